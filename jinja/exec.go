package jinja

func (s *dataStmt) exec(in *interp, _ *scope) flow {
	in.write(s.text)
	return flowNext
}

func (s *printStmt) exec(in *interp, sc *scope) flow {
	in.line = s.line
	in.print(in.eval(s.x, sc))
	return flowNext
}

func (s *ifStmt) exec(in *interp, sc *scope) flow {
	for _, b := range s.branches {
		in.line = b.line
		if truth(in.eval(b.cond, sc)) {
			return in.exec(b.body, sc)
		}
	}
	return in.exec(s.otherwise, sc)
}

func (s *setStmt) exec(in *interp, sc *scope) flow {
	in.line = s.line
	if ns, ok := s.target.(*namespaceTarget); ok {
		ns.find(in, sc) // refused before the value is looked at
	}
	s.target.assign(in, sc, in.eval(s.x, sc))
	return flowNext
}

func (s *setBlockStmt) exec(in *interp, sc *scope) flow {
	text, f := in.capture(s.body, newScope(sc))
	if f != flowNext {
		return f
	}
	in.line = s.line
	s.target.assign(in, sc, in.applyFilters(s.filter, text, sc))
	return flowNext
}

func (s *filterStmt) exec(in *interp, sc *scope) flow {
	inner := newScope(sc)
	text, f := in.capture(s.body, inner)
	if f != flowNext {
		return f
	}
	in.line = s.line
	in.printText(in.applyFilters(s.filter, text, inner))
	return flowNext
}

// applyFilters runs a chain of filters over the text of a block.
func (in *interp) applyFilters(chain expr, text Value, sc *scope) Value {
	f, ok := chain.(*filterExpr)
	if !ok {
		return text
	}
	return f.apply(in, sc, in.applyFilters(f.x, text, sc))
}

func (s *macroStmt) exec(in *interp, sc *scope) flow {
	sc.set(s.def.name, &macro{macroDef: s.def, scope: sc})
	return flowNext
}

func (s *callStmt) exec(in *interp, sc *scope) flow {
	in.line = s.line
	caller := &macro{macroDef: s.def, scope: sc}
	in.printText(s.call.invoke(in, sc, namedValue{"caller", caller}))
	return flowNext
}

// exec calls the body as a function of its own, which is how the block is defined
// for Jinja2: variables set inside do not leave it.
func (s *generationStmt) exec(in *interp, sc *scope) flow {
	line := in.line
	text := (&macro{macroDef: s.def, scope: sc}).call(in, nil, nil)
	in.line = line
	start := len(in.out.b)
	in.print(text)
	in.out.spans = append(in.out.spans, [2]int{start, len(in.out.b)})
	return flowNext
}

func (s *withStmt) exec(in *interp, sc *scope) flow {
	inner := newScope(sc)
	for i, t := range s.targets {
		t.assign(in, inner, in.eval(s.values[i], sc))
	}
	return in.exec(s.body, inner)
}

// exec runs the block in place. It sees the variables of the top level only.
func (s *blockStmt) exec(in *interp, _ *scope) flow {
	return in.exec(s.body, newScope(in.root))
}

func (s *flowStmt) exec(*interp, *scope) flow { return s.signal }

func (s *loaderStmt) exec(in *interp, _ *scope) flow {
	in.line = s.line
	raise(TypeError, "no loader for this environment specified")
	return flowNext
}

func (s *forStmt) exec(in *interp, sc *scope) flow {
	in.line = s.line
	items := in.eval(s.iter, sc)
	if !s.recursive {
		return s.run(in, sc, items, nil)
	}
	in.print(s.recurse(in, sc, items, 0))
	return flowNext
}

// recurse renders a recursive loop, or one level of it, to text.
func (s *forStmt) recurse(in *interp, sc *scope, items Value, depth int) Value {
	in.enter()
	outer := in.out
	in.out = &buffer{}
	s.run(in, sc, items, &loopValue{recurse: s, scope: sc, depth0: depth})
	inner := in.out
	in.out = outer
	in.depth--
	return inner.value(in)
}

// run loops over items. The loop value may be prepared by recurse.
func (s *forStmt) run(in *interp, sc *scope, items Value, loop *loopValue) flow {
	if loop == nil {
		loop = &loopValue{}
	}
	loop.start(in, s.source(in, sc, items))
	// As in Jinja2, the else part also runs when no pass came to its end because a
	// break or continue cut every one short.
	finished := false
	for v, ok := loop.next(); ok; v, ok = loop.next() {
		pass := newScope(sc)
		pass.set("loop", loop)
		s.target.assign(in, pass, v)
		f := in.exec(s.body, pass)
		if f == flowBreak {
			break
		}
		finished = finished || f == flowNext
	}
	if finished {
		return flowNext
	}
	return in.exec(s.otherwise, newScope(sc))
}

// source iterates over items, leaving out those the loop's own if rejects.
func (s *forStmt) source(in *interp, sc *scope, items Value) iterator {
	it := in.iterate(items)
	if s.filter == nil {
		return it
	}
	return func() (Value, bool) {
		for {
			v, ok := it()
			if !ok {
				return nil, false
			}
			test := newScope(sc)
			s.target.assign(in, test, v)
			if truth(in.eval(s.filter, test)) {
				return v, true
			}
		}
	}
}

func (t *nameTarget) assign(in *interp, sc *scope, v Value) {
	in.steps += len(sc.vars) / 16 // see lookup
	sc.set(t.name, v)
}

func (t *tupleTarget) assign(in *interp, sc *scope, v Value) {
	for i, item := range in.unpack(v, len(t.items)) {
		t.items[i].assign(in, sc, item)
	}
}

// unpack returns the n values that v is made of.
func (in *interp) unpack(v Value, n int) []Value {
	if !iterable(v) {
		raise(TypeError, "cannot unpack non-iterable %s object", v.typeName())
	}
	it := in.iterate(v)
	var items []Value
	for item, ok := it(); ok; item, ok = it() {
		if len(items) == n {
			raise(ValueError, "too many values to unpack (expected %d)", n)
		}
		items = append(items, item)
	}
	if len(items) < n {
		raise(ValueError, "not enough values to unpack (expected %d, got %d)", n, len(items))
	}
	return items
}

func (t *namespaceTarget) find(in *interp, sc *scope) *namespace {
	ns, ok := in.lookup(sc, t.name).(*namespace)
	if !ok {
		raise(RuntimeError, "cannot assign attribute on non-namespace object")
	}
	return ns
}

func (t *namespaceTarget) assign(in *interp, sc *scope, v Value) {
	t.find(in, sc).attrs.put(String(t.attr), v)
}
