import SheafBytes

/// The digests of the latest entries of a shard (`format-spec/hub.md`, table 2).
struct DigestRing: Sendable {
    private let log: HubLogID
    private let capacity: Int
    /// The entry of the first digest, with which the reader began.
    private let start: UInt64
    /// Digests by their distance from `start`, modulo `capacity`.
    private var digests: [UInt64]
    /// Number of the last entry.
    private(set) var last: UInt64
    /// The digest of all entries up to the last one.
    private(set) var digest: UInt64

    init(log: HubLogID, entry: UInt64, digest: UInt64, capacity: Int) {
        precondition(capacity > 1, "Two digests show whether an entry is the same.")
        self.log = log
        self.capacity = capacity
        start = entry
        digests = [digest]
        last = entry
        self.digest = digest
    }

    /// Number of digests kept.
    var count: Int { digests.count }

    /// Number of the earliest entry whose digest is known.
    var first: UInt64 { last - UInt64(digests.count - 1) }

    /// Appends the next entry; nil stands for one that is lost.
    mutating func append(_ entry: UnsafeRawBufferPointer?) {
        digest = Self.digest(after: digest, entry, in: log)
        last += 1
        let index = Int((last - start) % UInt64(capacity))
        if index < digests.count {
            digests[index] = digest
        } else {
            digests.append(digest)
        }
    }

    /// Returns the digest of the entries up to one; nil if it is not kept.
    func digest(at entry: UInt64) -> UInt64? {
        guard entry >= first, entry <= last else { return nil }
        return digests[Int((entry - start) % UInt64(capacity))]
    }

    /// Whether bytes are those of a known entry; nil if its digest is not kept.
    func isEntry(_ number: UInt64, _ bytes: UnsafeRawBufferPointer) -> Bool? {
        guard number > first, let before = digest(at: number - 1) else { return nil }
        return digest(at: number) == Self.digest(after: before, bytes, in: log)
    }

    /// Whether a known entry counts as lost; false if its digest is not kept.
    func isLost(_ number: UInt64) -> Bool {
        guard number > first, let before = digest(at: number - 1) else { return false }
        return digest(at: number) == Self.digest(after: before, nil, in: log)
    }

    /// Returns the digest that follows another one.
    static func digest(
        after previous: UInt64, _ entry: UnsafeRawBufferPointer?, in log: HubLogID
    ) -> UInt64 {
        var writer = ByteWriter(capacity: 16)
        writer.write(previous)
        writer.write(entry.map { XXH3.hash64($0) } ?? 0)
        return writer.bytes.span.withUnsafeBytes { XXH3.hash64($0, seed: log.low) }
    }
}
