/// Moving a text through the states of a pattern.
extension PatternProgram {
    /// Whether the text, or a part of it, is accepted; nil where that costs more than there is fuel.
    func matches(_ text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        let count = instructions.count
        // For each state the place where it was entered last, two lists of states, and a stack.
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

/// One text on its way through a program.
private struct PatternRun {
    let program: PatternProgram
    let instructions: UnsafeBufferPointer<PatternProgram.Instruction>
    let sets: UnsafeBufferPointer<ScalarSet>
    let text: UnsafeRawBufferPointer
    /// For each state the number of the place at which it was entered last.
    let entered: UnsafeMutablePointer<UInt32>
    /// States that read a scalar: those at this place, and those at the next.
    var current: UnsafeMutablePointer<UInt32>
    var following: UnsafeMutablePointer<UInt32>
    let stack: UnsafeMutablePointer<UInt32>
    var fuel: Int

    var currentCount = 0
    var place: UInt32 = 0
    var isAccepted = false
    /// The scalars before and behind the place.
    var previous = UTF8Walk.none
    var next = UTF8Walk.none
    /// Whether a word begins or ends at a place, and at which one that was asked last.
    var isBoundary = false
    var boundaryPlace: UInt32 = 0

    mutating func search() -> Bool? {
        var offset = 0
        var length: Int
        (next, length) = UTF8Walk.decode(text, at: 0)
        place = 1
        while true {
            if !program.isAnchored || offset == 0 {
                if currentCount == 0, !isAccepted, !program.firstBytes.isEmpty {
                    guard let start = nextStart(from: offset) else { return false }
                    if start > offset { (offset, length) = moved(to: start) }
                }
                currentCount = enter(0, into: current, currentCount)
            }
            if isAccepted, !program.takesWhole || offset == text.count { return true }
            guard offset < text.count, currentCount > 0 || !program.isAnchored else { return false }
            fuel -= currentCount + 1
            guard fuel >= 0 else { return nil }
            offset += length
            step(to: offset, &length)
        }
    }

    /// Where a match can begin at all; nil where none can.
    private mutating func nextStart(from start: Int) -> Int? {
        if program.isAnchored {
            return start < text.count && program.firstBytes[Int(text[start])] ? start : nil
        }
        var offset = start
        defer { fuel -= offset - start }
        return program.firstBytes.withUnsafeBufferPointer { firstBytes in
            while offset < text.count {
                // Bytes in the middle of scalars are no starts.
                if firstBytes[Int(text[offset])], text[offset] & 0xC0 != 0x80 { return offset }
                offset += 1
            }
            return nil
        }
    }

    private mutating func moved(to offset: Int) -> (Int, Int) {
        // Nothing that was entered with other scalars around it is known here.
        place += 1
        let before = UTF8Walk.start(text, ofScalarBefore: offset)
        previous = UTF8Walk.decode(text, at: before).scalar
        let (scalar, length) = UTF8Walk.decode(text, at: offset)
        next = scalar
        return (offset, length)
    }

    /// Reads the scalar before `offset`, and moves all states over it.
    private mutating func step(to offset: Int, _ length: inout Int) {
        let scalar = next
        previous = scalar
        (next, length) = UTF8Walk.decode(text, at: offset)
        place += 1
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

    /// Adds what a state leads to at this place; the new count of the list.
    @inline(__always)
    private mutating func enter(
        _ state: UInt32, into list: UnsafeMutablePointer<UInt32>, _ count: Int
    ) -> Int {
        var count = count
        stack[0] = state
        // Each state is entered once for each place, so the stack holds one more than there are.
        var height = 1
        while height > 0 {
            height -= 1
            let state = stack[height]
            guard entered[Int(state)] != place else { continue }
            entered[Int(state)] = place
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
        // What lies beyond ASCII is looked up in the tables of Unicode.
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
            if boundaryPlace != place {
                boundaryPlace = place
                isBoundary = ScalarSet.isWord(previous) != ScalarSet.isWord(next)
            }
            return isBoundary == (assertion == .wordBoundary)
        }
    }
}
