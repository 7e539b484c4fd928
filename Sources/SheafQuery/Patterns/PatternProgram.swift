/// A pattern as states that a text moves through, all of them at the same time.
///
/// This is Thompson's machine: however a pattern is written, each scalar of the text looks at each
/// state once.
struct PatternProgram: Sendable {
    /// What a state does; it goes on to the next one where nothing else is said.
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
    /// False where any part of a text will do.
    let takesWhole: Bool
    let ignoresCase: Bool
    /// True where matches begin with the text.
    private(set) var isAnchored = false
    /// For each byte whether a match can begin with it; empty where matches can be empty.
    private(set) var firstBytes: [Bool] = []

    init(
        _ node: PatternNode, sets: [ScalarSet], takesWhole: Bool, ignoresCase: Bool
    ) throws(QueryError) {
        var compiler = PatternCompiler(ignoresCase: ignoresCase)
        try compiler.emit(node)
        instructions = compiler.instructions + [.accept]
        self.sets = sets
        self.takesWhole = takesWhole
        self.ignoresCase = ignoresCase
        isAnchored = takesWhole || startsAreAnchored()
        firstBytes = bytesAtStart()
    }

    /// The states that the first one leads to without reading a scalar.
    private func starts(throughAssertions: Bool) -> [Instruction] {
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

    private func startsAreAnchored() -> Bool {
        starts(throughAssertions: false).allSatisfy {
            if case .assertion(.textStart) = $0 { true } else { false }
        }
    }

    private func bytesAtStart() -> [Bool] {
        var bytes = [Bool](repeating: false, count: 256)
        // What lies beyond ASCII is not looked at closely.
        func addBeyondASCII() { for byte in 128..<256 { bytes[byte] = true } }
        for start in starts(throughAssertions: true) {
            switch start {
            case .accept: return []
            case .scalar(let scalar):
                // Beyond ASCII there are scalars with a lower case in it.
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

/// Writes the states of a pattern one behind the other.
struct PatternCompiler {
    private(set) var instructions: [PatternProgram.Instruction] = []
    private let ignoresCase: Bool
    // Repetitions of nothing make no states, and still take time.
    private var work = 0

    init(ignoresCase: Bool) {
        self.ignoresCase = ignoresCase
    }

    /// Writes one more part of the pattern.
    mutating func emit(_ node: PatternNode) throws(QueryError) {
        work += 1
        guard max(instructions.count, work) < PatternLimits.maximumStates else {
            throw QueryError(
                .limit, "a pattern with more than \(PatternLimits.maximumStates) states",
                hint: "repetitions like {1000} count as often as they say")
        }
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

    private var next: UInt32 { UInt32(instructions.count) }

    private mutating func emitChoice(_ branches: [PatternNode]) throws(QueryError) {
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
    ) throws(QueryError) {
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
