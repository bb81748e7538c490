package jinja

// expr is a node of an expression. Evaluate it through interp.eval, which bounds
// steps and nesting.
type expr interface {
	eval(in *interp, sc *scope) Value
}

// stmt is a node of a template body.
type stmt interface {
	exec(in *interp, sc *scope) flow
}

// target is what an assignment or a loop stores into.
type target interface {
	assign(in *interp, sc *scope, v Value)
}

// flow says how a statement ended: whether a break or continue is on its way to
// the enclosing loop.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// Expressions.
type (
	constExpr struct{ v Value }
	nameExpr  struct{ name string }
	tupleExpr struct{ items []expr }
	listExpr  struct{ items []expr }
	dictExpr  struct{ keys, vals []expr }

	// condExpr is "then if cond else other"; other may be nil.
	condExpr struct {
		cond, then, other expr
		line              int
	}
	andExpr  struct{ left, right expr }
	orExpr   struct{ left, right expr }
	notExpr  struct{ x expr }
	signExpr struct {
		op string // "-" or "+"
		x  expr
	}
	binaryExpr struct {
		op          string
		left, right expr
	}
	concatExpr  struct{ parts []expr }
	compareExpr struct {
		first expr
		ops   []comparison
	}
	attrExpr struct {
		x    expr
		name string
	}
	itemExpr  struct{ x, key expr }
	sliceExpr struct{ x, start, stop, step expr }
	callExpr  struct {
		fn   expr
		args callArgs
		line int
	}
	// filterExpr is "x | name(args)". In a filter block or a filtered set block the
	// innermost x is nil and stands for the text of the block.
	filterExpr struct {
		x    expr
		name string
		args callArgs
		line int
	}
	testExpr struct {
		x    expr
		name string
		args callArgs
		line int
	}
)

// comparison is one "op right" of a chain. Operators are spelled as in a template,
// "not in" included.
type comparison struct {
	op    string
	right expr
}

// callArgs are the arguments of a call, filter or test.
type callArgs struct {
	pos      []expr
	keywords []keyword
	star     expr // *star, or nil
	starStar expr // **starStar, or nil
}

type keyword struct {
	name string
	x    expr
}

// Assignment targets.
type (
	nameTarget      struct{ name string }
	tupleTarget     struct{ items []target }
	namespaceTarget struct{ name, attr string }
)

// Statements.
type (
	dataStmt  struct{ text string }
	printStmt struct {
		x    expr
		line int
	}
	ifStmt struct {
		branches  []ifBranch
		otherwise []stmt
	}
	forStmt struct {
		target    target
		iter      expr
		filter    expr // the "if" part, or nil
		recursive bool
		body      []stmt
		otherwise []stmt
		line      int
	}
	setStmt struct {
		target target
		x      expr
		line   int
	}
	setBlockStmt struct {
		target target
		filter expr // chain over the text, or nil
		body   []stmt
		line   int
	}
	macroStmt struct{ def *macroDef }
	callStmt  struct {
		call *callExpr
		def  *macroDef
		line int
	}
	filterStmt struct {
		filter expr
		body   []stmt
		line   int
	}
	withStmt struct {
		targets []target
		values  []expr
		body    []stmt
	}
	blockStmt      struct{ body []stmt }
	generationStmt struct{ def *macroDef }
	flowStmt       struct{ signal flow }
	// loaderStmt is include, import, from or extends: each needs a loader, which
	// chat templates do not have.
	loaderStmt struct{ line int }
)

type ifBranch struct {
	cond expr
	body []stmt
	line int
}

// macroDef is the code of a macro, or of a call block, whose name is empty.
type macroDef struct {
	name     string
	params   []string
	defaults []expr // for the last parameters
	body     []stmt
	// Whether the body mentions these names decides which arguments are accepted.
	usesCaller, usesKwargs, usesVarargs bool
}
