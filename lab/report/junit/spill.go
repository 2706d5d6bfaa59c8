package junit

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// maxHeld is how many bytes are held before they are put into a file.
const maxHeld = 4 << 20

// spill holds text to be written later, in a temporary file where it is much.
type spill struct {
	held bytes.Buffer
	file *os.File
}

func (s *spill) write(text string) error {
	s.held.WriteString(text)
	if s.held.Len() < maxHeld {
		return nil
	}
	if s.file == nil {
		file, err := os.CreateTemp("", "lab-junit-*")
		if err != nil {
			return err
		}
		s.file = file
		// Where an open file can be removed, none is left whatever happens.
		_ = os.Remove(file.Name())
	}
	_, err := s.held.WriteTo(s.file)
	return err
}

func (s *spill) copyTo(w io.Writer) error {
	if s.file != nil {
		if _, err := s.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(w, s.file); err != nil {
			return err
		}
	}
	_, err := s.held.WriteTo(w)
	return err
}

func (s *spill) discard() {
	if s.file == nil {
		return
	}
	_ = s.file.Close()
	if err := os.Remove(s.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return // it is in the folder of temporary files, which is swept
	}
	s.file = nil
}
