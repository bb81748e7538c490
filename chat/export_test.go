package chat

// ParseGeneral compiles a template for the template engine, also one that is
// built in.
func ParseGeneral(src string) (Template, error) { return parseGeneral(src, nil) }
