/// Matching by simulating all states in parallel.
extension PatternProgram {
    /// Whether the text or, unless `matchesCompleteText`, a part of it matches.
    ///
    /// Returns nil if the fuel runs out.
    func matches(_ text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        let count = instructions.count
        // The memory holds the last position that entered each state, two lists and a stack.
        fuel -= count / 8
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 4 * count + 2) { memory in
            guard let base = memory.baseAddress else { return false }
            base.initialize(repeating: 0, count: count)
            return instructions.withUnsafeBufferPointer { instructions in
                sets.withUnsafeBufferPointer { sets in
                    var run = PatternRun(
                        program: self, instructions: instructions, sets: sets, text: text,
                        entered: base, current: base + count, following: base + 2 * count,
                        stack: base + 3 * count, fuel: fuel)
                    let result = run.search()
                    fuel = run.fuel
                    return result
                }
            }
        }
    }
}

/// The state of matching one text.
private struct PatternRun {
    let program: PatternProgram
    let instructions: UnsafeBufferPointer<PatternProgram.Instruction>
    let sets: UnsafeBufferPointer<ScalarSet>
    let text: UnsafeRawBufferPointer
    /// The number of the position that last entered each state.
    let entered: UnsafeMutablePointer<UInt32>
    /// States to advance at the current position, and at the next one.
    var current: UnsafeMutablePointer<UInt32>
    var following: UnsafeMutablePointer<UInt32>
    let stack: UnsafeMutablePointer<UInt32>
    var fuel: Int

    var currentCount = 0
    var position: UInt32 = 0
    var isAccepted = false
    /// The scalars before and after the current position.
    var previous = UTF8Walk.none
    var next = UTF8Walk.none
    /// Whether the position tested last was a word boundary.
    var isBoundary = false
    var boundaryPosition: UInt32 = 0

    mutating func search() -> Bool? {
        var offset = 0
        var length: Int
        (next, length) = UTF8Walk.decode(text, at: 0)
        position = 1
        while true {
            if !program.isAnchored || offset == 0 {
                if currentCount == 0, !isAccepted, !program.firstBytes.isEmpty {
                    guard let start = nextStart(from: offset) else { return false }
                    if start > offset { (offset, length) = moved(to: start) }
                }
                currentCount = enter(0, into: current, currentCount)
            }
            if isAccepted, !program.matchesCompleteText || offset == text.count { return true }
            guard offset < text.count, currentCount > 0 || !program.isAnchored else { return false }
            fuel -= currentCount + 1
            guard fuel >= 0 else { return nil }
            offset += length
            step(to: offset, &length)
        }
    }

    /// Returns the next offset at which a match may begin, or nil.
    private mutating func nextStart(from start: Int) -> Int? {
        if program.isAnchored {
            return start < text.count && program.firstBytes[Int(text[start])] ? start : nil
        }
        var offset = start
        defer { fuel -= offset - start }
        return program.firstBytes.withUnsafeBufferPointer { firstBytes in
            while offset < text.count {
                // Continuation bytes are not the start of a scalar.
                if firstBytes[Int(text[offset])], text[offset] & 0xC0 != 0x80 { return offset }
                offset += 1
            }
            return nil
        }
    }

    private mutating func moved(to offset: Int) -> (Int, Int) {
        // Earlier entries were made with other neighboring scalars and are invalidated.
        position += 1
        let before = UTF8Walk.start(text, ofScalarBefore: offset)
        previous = UTF8Walk.decode(text, at: before).scalar
        let (scalar, length) = UTF8Walk.decode(text, at: offset)
        next = scalar
        return (offset, length)
    }

    /// Reads the scalar before `offset` and advances all states.
    private mutating func step(to offset: Int, _ length: inout Int) {
        let scalar = next
        previous = scalar
        (next, length) = UTF8Walk.decode(text, at: offset)
        position += 1
        isAccepted = false
        let folded = program.ignoresCase ? CaseFolding.lower(scalar) : scalar
        var count = 0
        for index in 0..<currentCount {
            let state = current[index]
            let accepts =
                switch instructions[Int(state)] {
                case .scalar(let expected): expected == folded
                case .any: true
                case .anyButNewline: scalar != 0x0A
                case .set(let index): contains(Int(index), scalar)
                default: false
                }
            if accepts { count = enter(state + 1, into: following, count) }
        }
        swap(&current, &following)
        currentCount = count
    }

    /// Adds all states reachable without reading a scalar; returns the new length of the list.
    @inline(__always)
    private mutating func enter(
        _ state: UInt32, into list: UnsafeMutablePointer<UInt32>, _ count: Int
    ) -> Int {
        var count = count
        stack[0] = state
        // Each state is expanded once per position, so the stack needs one more entry than states.
        var height = 1
        while height > 0 {
            height -= 1
            let state = stack[height]
            guard entered[Int(state)] != position else { continue }
            entered[Int(state)] = position
            fuel -= 1
            switch instructions[Int(state)] {
            case .accept: isAccepted = true
            case .jump(let target):
                stack[height] = target
                height += 1
            case .split(let left, let right):
                stack[height] = right
                stack[height + 1] = left
                height += 2
            case .assertion(let assertion):
                guard holds(assertion) else { continue }
                stack[height] = state + 1
                height += 1
            default:
                list[count] = state
                count += 1
            }
        }
        return count
    }

    @inline(__always)
    private mutating func contains(_ set: Int, _ scalar: UInt32) -> Bool {
        // Scalars beyond ASCII require Unicode property lookups.
        if scalar >= 128 { fuel -= 32 }
        return sets[set].contains(scalar)
    }

    private mutating func holds(_ assertion: PatternAssertion) -> Bool {
        switch assertion {
        case .textStart: return previous == UTF8Walk.none
        case .textEnd: return next == UTF8Walk.none
        case .lineStart: return previous == UTF8Walk.none || previous == 0x0A
        case .lineEnd: return next == UTF8Walk.none || next == 0x0A
        case .wordBoundary, .noWordBoundary:
            if boundaryPosition != position {
                boundaryPosition = position
                isBoundary = ScalarSet.isWord(previous) != ScalarSet.isWord(next)
            }
            return isBoundary == (assertion == .wordBoundary)
        }
    }
}
