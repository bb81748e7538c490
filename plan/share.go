package plan

// Share is how far one data set is.
type Share struct {
	Target  int64 // output tokens that are wanted
	Have    int64 // output tokens there are, seeds included
	Running int64 // output tokens expected from what is under way
}

// lack is the part of the target that is neither there nor under way.
func (s Share) lack() float64 {
	if s.Target <= 0 {
		return 0
	}
	return 1 - float64(s.Have+s.Running)/float64(s.Target)
}

// Met reports whether the target is reached by what is there.
func (s Share) Met() bool { return s.Have >= s.Target }
