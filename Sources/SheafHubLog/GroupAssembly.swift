/// The messages of groups of one author that are not complete.
struct GroupAssembly: Sendable {
    /// A message of an open group.
    struct Part: Sendable {
        let flags: HubMessage.Flags
        let extent: HubMessage.Extent
        let previous: UInt64
        let checksum: UInt64
        let entry: UInt64
        let payload: [UInt8]?

        init(_ message: HubMessage, checksum: UInt64, entry: UInt64, keepsPayload: Bool) {
            flags = message.flags
            extent = message.extent
            previous = message.previous
            self.checksum = checksum
            self.entry = entry
            payload = keepsPayload ? message.payload : nil
        }

        /// Whether `next` is the next message of the same group.
        func isFollowed(by next: Part) -> Bool {
            flags.contains(.isContinued) && next.flags.contains(.continues)
                && extent == next.extent
                && flags.contains(.replaces) == next.flags.contains(.replaces)
        }
    }

    /// The effect of a message on the open groups.
    struct Outcome {
        /// The messages of the group that is complete now, and the sequence of the first one.
        var complete: (first: UInt64, parts: [Part])?
        /// Messages that cannot be those of a group, and were removed.
        var malformed: [ClosedRange<UInt64>] = []
    }

    private var parts: [UInt64: Part] = [:]
    /// Sequences among which the last unfinished groups were discarded.
    private var discarded: ClosedRange<UInt64>?
    /// Total length of the payloads kept.
    private(set) var payloadLength = 0

    var count: Int { parts.count }

    var firstEntry: UInt64? { parts.values.lazy.map(\.entry).min() }

    /// The first sequence of a message of an open group, and the checksum of the message before.
    var firstSequence: (sequence: UInt64, previous: UInt64)? {
        guard let first = parts.keys.min(), let part = parts[first] else { return nil }
        return (first, part.previous)
    }

    /// Adds a message that was not seen before; nil stands for a mark.
    ///
    /// - Parameter isKnown: Whether the messages before and after it were seen.
    mutating func add(
        _ part: Part?, at sequence: UInt64, isKnown: (before: Bool, after: Bool)
    ) -> Outcome {
        var outcome = Outcome()
        insert(part, at: sequence, isKnown: isKnown, &outcome)
        // Late messages of a group that was discarded were reported with it.
        outcome.malformed.removeAll { discarded?.overlaps($0.extendedByOne) ?? false }
        return outcome
    }

    private mutating func insert(
        _ part: Part?, at sequence: UInt64, isKnown: (before: Bool, after: Bool),
        _ outcome: inout Outcome
    ) {
        let (before, after) = (parts[sequence - 1], parts[sequence &+ 1])
        var isMalformed = false
        if let part {
            parts[sequence] = part
            payloadLength += part.payload?.count ?? 0
        }
        let continues = part?.flags.contains(.continues) ?? false
        if let before, before.flags.contains(.isContinued) {
            if !(part.map(before.isFollowed) ?? false) {
                outcome.malformed.append(removeRun(around: sequence - 1))
                isMalformed = continues
            }
        } else if continues, before != nil || isKnown.before {
            isMalformed = true
        }
        let isContinued = part?.flags.contains(.isContinued) ?? false
        if let after, after.flags.contains(.continues) {
            if !(part?.isFollowed(by: after) ?? false) {
                outcome.malformed.append(removeRun(around: sequence &+ 1))
                isMalformed = isMalformed || isContinued
            }
        } else if isContinued, after != nil || isKnown.after {
            isMalformed = true
        }
        guard part != nil else { return }
        if isMalformed {
            outcome.malformed.append(removeRun(around: sequence))
        } else if !isContinued || after != nil {
            complete(sequence, &outcome)
        }
    }

    /// Removes the group of a message if it is complete, or longer than a group can be.
    private mutating func complete(_ sequence: UInt64, _ outcome: inout Outcome) {
        let run = run(around: sequence)
        guard let first = parts[run.lowerBound], let last = parts[run.upperBound] else { return }
        let length = run.upperBound - run.lowerBound + 1
        guard length <= UInt64(HubLimits.groupMessages) else {
            outcome.malformed.append(removeRun(around: sequence))
            return
        }
        guard !first.flags.contains(.continues), !last.flags.contains(.isContinued) else { return }
        outcome.complete = (run.lowerBound, run.compactMap { remove($0) })
    }

    /// Returns the range of messages of one group around one of them.
    private func run(around sequence: UInt64) -> ClosedRange<UInt64> {
        var (first, last) = (sequence, sequence)
        while let part = parts[first], let before = parts[first - 1], before.isFollowed(by: part) {
            first -= 1
        }
        while let part = parts[last], let after = parts[last &+ 1], part.isFollowed(by: after) {
            last += 1
        }
        return first...last
    }

    private mutating func removeRun(around sequence: UInt64) -> ClosedRange<UInt64> {
        let run = run(around: sequence)
        for number in run { _ = remove(number) }
        return run
    }

    private mutating func remove(_ sequence: UInt64) -> Part? {
        guard let part = parts.removeValue(forKey: sequence) else { return nil }
        payloadLength -= part.payload?.count ?? 0
        return part
    }

    /// Removes the messages in a range, and the open groups that continue in it.
    ///
    /// Returns the ranges of the messages before and after it that were removed.
    mutating func discard(around range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        for number in parts.keys where range.contains(number) { _ = remove(number) }
        let (before, after) = (range.lowerBound &- 1, range.upperBound &+ 1)
        var ranges: [ClosedRange<UInt64>] = []
        if parts[before]?.flags.contains(.isContinued) ?? false {
            ranges.append(removeRun(around: before))
        }
        if parts[after]?.flags.contains(.continues) ?? false {
            ranges.append(removeRun(around: after))
        }
        return ranges
    }

    /// Discards all open groups, and returns the ranges of their messages.
    mutating func discardAll() -> [ClosedRange<UInt64>] {
        var ranges: [ClosedRange<UInt64>] = []
        for number in parts.keys.sorted() where parts[number] != nil {
            ranges.append(removeRun(around: number))
        }
        for range in ranges {
            let earlier = discarded ?? range
            discarded =
                min(
                    earlier.lowerBound, range.lowerBound)...max(
                    earlier.upperBound, range.upperBound)
        }
        return ranges
    }
}

extension ClosedRange<UInt64> {
    /// The range with the numbers before and after it.
    fileprivate var extendedByOne: ClosedRange {
        (lowerBound > 0 ? lowerBound - 1 : 0)...(upperBound < .max ? upperBound + 1 : .max)
    }
}
