// Package e2e holds tests of whole jobs: the program and the emulator as
// separate processes, real files, and the emulator's books as the truth.
package e2e
