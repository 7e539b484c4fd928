/// A pattern compiled to a nondeterministic automaton.
///
/// It is simulated as described by Thompson, so that each scalar visits each state at most once.
struct PatternProgram: Sendable {
    /// The action of a state, which continues with the next state unless it jumps, splits or
    /// accepts.
    enum Instruction: Sendable {
        case scalar(UInt32)
        case any
        case anyButNewline
        case set(UInt32)
        case assertion(PatternAssertion)
        case jump(UInt32)
        case split(UInt32, UInt32)
        case accept
    }

    let instructions: [Instruction]
    let sets: [ScalarSet]
    /// Whether the complete text must match, and not only a part of it.
    let matchesCompleteText: Bool
    let ignoresCase: Bool
    /// Whether matches must begin at the start of the text.
    let isAnchored: Bool
    /// Whether a match can begin with each byte; empty if it can be empty or begin with any scalar.
    let firstBytes: [Bool]

    init(
        _ node: PatternNode, sets: [ScalarSet], matchesCompleteText: Bool, ignoresCase: Bool
    ) throws(PatternError) {
        var compiler = PatternCompiler(ignoresCase: ignoresCase)
        try compiler.emit(node)
        try compiler.checkCount()
        let instructions = compiler.instructions + [.accept]
        self.instructions = instructions
        self.sets = sets
        self.matchesCompleteText = matchesCompleteText
        self.ignoresCase = ignoresCase
        isAnchored = matchesCompleteText || Self.startsAreAnchored(instructions)
        firstBytes = Self.bytesAtStart(instructions, sets, ignoresCase: ignoresCase)
    }

    /// Returns the states reachable from the first one without reading a scalar.
    private static func starts(
        of instructions: [Instruction], throughAssertions: Bool
    ) -> [Instruction] {
        var found: [Instruction] = []
        var seen = [Bool](repeating: false, count: instructions.count)
        var open: [Int] = [0]
        while let state = open.popLast() {
            guard !seen[state] else { continue }
            seen[state] = true
            switch instructions[state] {
            case .jump(let target): open.append(Int(target))
            case .split(let left, let right): open += [Int(left), Int(right)]
            case .assertion where throughAssertions: open.append(state + 1)
            default: found.append(instructions[state])
            }
        }
        return found
    }

    private static func startsAreAnchored(_ instructions: [Instruction]) -> Bool {
        starts(of: instructions, throughAssertions: false).allSatisfy {
            if case .assertion(.textStart) = $0 { true } else { false }
        }
    }

    private static func bytesAtStart(
        _ instructions: [Instruction], _ sets: [ScalarSet], ignoresCase: Bool
    ) -> [Bool] {
        var bytes = [Bool](repeating: false, count: 256)
        // All bytes beyond ASCII are accepted, which is a safe overestimate.
        func addBeyondASCII() { for byte in 128..<256 { bytes[byte] = true } }
        for start in starts(of: instructions, throughAssertions: true) {
            switch start {
            case .accept: return []
            case .scalar(let scalar):
                // Some scalars beyond ASCII have an ASCII lower case.
                if scalar >= 128 || ignoresCase { addBeyondASCII() }
                guard scalar < 128 else { continue }
                bytes[Int(scalar)] = true
                if ignoresCase { bytes[Int(CaseFolding.upper(scalar))] = true }
            case .set(let index):
                for scalar: UInt32 in 0..<128 where sets[Int(index)].contains(scalar) {
                    bytes[Int(scalar)] = true
                }
                addBeyondASCII()
            default: return []
            }
        }
        return bytes
    }
}

/// A compiler of the syntax tree of a pattern to states.
struct PatternCompiler {
    private(set) var instructions: [PatternProgram.Instruction] = []
    private let ignoresCase: Bool
    // Nodes are counted as well: nested repetitions of nothing create no states, but take time.
    private var work = 0

    init(ignoresCase: Bool) {
        self.ignoresCase = ignoresCase
    }

    /// Appends the states of a node.
    mutating func emit(_ node: PatternNode) throws(PatternError) {
        work += 1
        try checkCount()
        switch node {
        case .scalar(let scalar):
            instructions.append(.scalar(ignoresCase ? CaseFolding.lower(scalar) : scalar))
        case .any: instructions.append(.any)
        case .anyButNewline: instructions.append(.anyButNewline)
        case .set(let index): instructions.append(.set(UInt32(index)))
        case .assertion(let assertion): instructions.append(.assertion(assertion))
        case .sequence(let nodes): for node in nodes { try emit(node) }
        case .choice(let branches): try emitChoice(branches)
        case .repetition(let node, let least, let most):
            try emitRepetition(node, least: least, most: most)
        }
    }

    /// Throws if there are too many states, or if too many nodes were visited for them.
    func checkCount() throws(PatternError) {
        let most = PatternLimits.maximumStates
        guard instructions.count <= most, work <= 2 * most else {
            throw PatternError(
                .limit, "a pattern has more than \(most) states",
                hint: "repetitions such as {1000} are expanded")
        }
    }

    private var next: UInt32 { UInt32(instructions.count) }

    private mutating func emitChoice(_ branches: [PatternNode]) throws(PatternError) {
        var jumps: [Int] = []
        for (index, branch) in branches.enumerated() {
            guard index < branches.count - 1 else {
                try emit(branch)
                break
            }
            let split = instructions.count
            instructions.append(.jump(0))
            try emit(branch)
            jumps.append(instructions.count)
            instructions.append(.jump(0))
            instructions[split] = .split(UInt32(split) + 1, next)
        }
        for jump in jumps { instructions[jump] = .jump(next) }
    }

    private mutating func emitRepetition(
        _ node: PatternNode, least: Int, most: Int?
    ) throws(PatternError) {
        guard let most else {
            for _ in 1..<max(least, 1) { try emit(node) }
            if least > 0 {
                let start = next
                try emit(node)
                instructions.append(.split(start, next + 1))
            } else {
                let split = instructions.count
                instructions.append(.jump(0))
                try emit(node)
                instructions.append(.jump(UInt32(split)))
                instructions[split] = .split(UInt32(split) + 1, next)
            }
            return
        }
        for _ in 0..<least { try emit(node) }
        var splits: [Int] = []
        for _ in least..<max(most, least) {
            splits.append(instructions.count)
            instructions.append(.jump(0))
            try emit(node)
        }
        for split in splits { instructions[split] = .split(UInt32(split) + 1, next) }
    }
}
