import SheafBytes

/// The counter dots of a field.
struct CounterDots {
    /// A restart of a counter, or a sum of one site's increments.
    struct Dot {
        let isRestart: Bool
        let stamp: Stamp
        /// The stamp of the restart that the dot belongs to.
        let epoch: Stamp
        let number: Number
    }

    private(set) var dots: [Dot] = []

    mutating func add(_ dot: Dot) {
        dots.append(dot)
    }

    /// The latest epoch of all dots.
    var epoch: Stamp { dots.reduce(.initial) { max($0, $1.epoch) } }

    /// The value of the counter: the number of the latest restart, and all its increments.
    var total: Number {
        let epoch = epoch
        // Dots are added in order of stamp: floating-point addition depends on the order.
        return Number.sum(
            dots.filter { $0.epoch == epoch }.sorted { $0.stamp < $1.stamp }.map(\.number))
    }
}

extension EncodedEntry {
    /// Returns the restarts and sums of a counter at this field.
    func counterDots(
        _ header: EncodedHeader, root: Stamp?
    ) throws(Malformed) -> CounterDots {
        var found = CounterDots()
        try forEachEntry { (entry) throws(Malformed) in
            switch try entry.tag() {
            case .restart:
                guard let number = try entry.inner().number() else {
                    throw .unexpected(entry.rawTag, at: entry.start)
                }
                let stamp = try entry.stamp(header, root: root)
                found.add(
                    CounterDots.Dot(isRestart: true, stamp: stamp, epoch: stamp, number: number))
            case .sum:
                let (epoch, number) = try entry.epochAndNumber(header)
                found.add(
                    CounterDots.Dot(
                        isRestart: false, stamp: try entry.stamp(header, root: root),
                        epoch: epoch, number: number))
            default: break
            }
        }
        return found
    }

    /// Returns the epoch of a sum, and its number.
    func epochAndNumber(_ header: EncodedHeader) throws(Malformed) -> (Stamp, Number) {
        guard let number = try inner(skipping: referenceWidth).number() else {
            throw .unexpected(rawTag, at: start)
        }
        return (try header.stamp(try epochReference()), number)
    }

    /// Returns the value of the counter at this field.
    func counter() throws(Malformed) -> Number {
        let header = try EncodedHeader(ofDocumentAt: base)
        return try counterDots(header, root: try header.rootStamp(readingTo: end)).total
    }

    /// Returns the value of the older counter at this field.
    func olderCounter() throws(Malformed) -> Number {
        let header = try EncodedHeader(ofDocumentAt: base)
        let root = try header.rootStamp(readingTo: end)
        var sums: [(stamp: Stamp, number: Number)] = []
        try forEachEntry { (entry) throws(Malformed) in
            guard try entry.tag() == .olderSum else { return }
            guard let number = try entry.inner().number() else {
                throw .unexpected(entry.rawTag, at: entry.start)
            }
            sums.append((try entry.stamp(header, root: root), number))
        }
        return Number.sum(sums.sorted { $0.stamp < $1.stamp }.map(\.number))
    }
}
