package import SheafDocument
import SheafEngine
import SheafQuery
import SheafSync

/// Quarantined documents: not written, since they are stamped too far ahead of the local clock.
///
/// The table contains the address and the time of each document, but not its bytes. When the local
/// clock accepts the time, the document is requested again. Of the documents beyond the maximum
/// only the earliest time is kept, at which the two sides reconcile.
package struct QuarantineTable {
    /// A quarantined document.
    package struct Entry {
        /// The latest time of the document's dots.
        var time: HybridTime
        /// Time of an early retry, set when another peer's state was written; otherwise nil.
        var retryAt: UInt64?
        /// Delay of the retry after the next failure.
        var retryNanoseconds = QuarantineTable.firstRetryNanoseconds
    }

    /// The quarantined documents of one peer.
    package struct Documents {
        fileprivate(set) var entries: [DocumentAddress: Entry] = [:]
        /// Number of documents beyond the maximum, and their earliest time.
        package fileprivate(set) var omitted: (count: Int, earliest: HybridTime)?
        /// Earliest time of a reconciliation for the omitted documents.
        fileprivate var comparableAt: UInt64 = 0
        /// The latest time of all documents quarantined since the quarantine was last empty.
        fileprivate(set) var latest = HybridTime.initial

        package var count: Int { entries.count + (omitted?.count ?? 0) }
        package var isEmpty: Bool { count == 0 }
    }

    /// Maximum number of documents of all peers, and of bytes of their addresses.
    package static let maximumCount = 4_096
    package static let maximumBytes = 1 << 20
    /// Maximum number of documents, and of bytes of their addresses, in one request.
    package static let maximumAsked = 512
    package static let maximumAskedBytes = 128 << 10
    package static let firstRetryNanoseconds: UInt64 = 30_000_000_000
    package static let maximumRetryNanoseconds: UInt64 = 3_600_000_000_000
    /// Minimum interval between reconciliations for omitted documents.
    package static let compareNanoseconds: UInt64 = 60_000_000_000
    /// Maximum interval between checks, since the wall clock may be set at any time.
    package static let checkNanoseconds: UInt64 = 30_000_000_000

    private var peers: [[UInt8]: Documents] = [:]
    private var count = 0
    private var byteCount = 0
    /// Time of the next check; nil if no documents are quarantined.
    package private(set) var checkAt: UInt64?

    package init() {}

    package subscript(key: [UInt8]) -> Documents? { peers[key] }

    package var isEmpty: Bool { peers.isEmpty }

    /// The addresses of the quarantined documents of all peers.
    var addresses: Set<DocumentAddress> {
        guard count > 0 else { return [] }
        return peers.values.reduce(into: []) { $0.formUnion($1.entries.keys) }
    }

    /// Whether a peer with quarantined documents satisfies a condition on its key.
    func containsPeer(where condition: ([UInt8]) -> Bool) -> Bool {
        peers.keys.contains(where: condition)
    }

    /// The keys of the peers with quarantined documents, in order.
    var keys: [[UInt8]] { peers.keys.sorted { $0.lexicographicallyPrecedes($1) } }

    /// Quarantines a document of a peer; beyond the maximum, only counts it.
    package mutating func add(
        _ address: DocumentAddress, _ time: HybridTime, of key: [UInt8], at now: UInt64
    ) {
        checkAt = checkAt.map { min($0, now) } ?? now
        var documents = peers[key, default: Documents()]
        documents.latest = max(documents.latest, time)
        let length = address.memoryLength
        if var entry = documents.entries[address] {
            entry.time = time
            if entry.retryAt != nil {
                entry.retryAt = now + entry.retryNanoseconds
                entry.retryNanoseconds = min(
                    2 * entry.retryNanoseconds, Self.maximumRetryNanoseconds)
            }
            documents.entries[address] = entry
        } else if count < Self.maximumCount, byteCount + length <= Self.maximumBytes {
            documents.entries[address] = Entry(time: time)
            (count, byteCount) = (count + 1, byteCount + length)
        } else {
            documents.omit(1, time, comparableAt: now + Self.compareNanoseconds)
        }
        peers[key] = documents
    }

    /// Counts documents of a peer that a write job omitted beyond its maximum.
    package mutating func omit(
        _ count: Int, _ earliest: HybridTime, of key: [UInt8], at now: UInt64
    ) {
        guard count > 0 else { return }
        checkAt = checkAt.map { min($0, now) } ?? now
        var documents = peers[key, default: Documents()]
        documents.omit(count, earliest, comparableAt: now + Self.compareNanoseconds)
        documents.latest = max(documents.latest, earliest)
        peers[key] = documents
    }

    /// Removes a document that was written, and schedules retries of it at other peers.
    package mutating func removeWritten(
        _ address: DocumentAddress, of key: [UInt8], at now: UInt64
    ) {
        remove(address, of: key)
        // Another peer with this state does not send it unasked, so its entry is retried.
        for other in peers.keys where peers[other]?.entries[address] != nil {
            peers[other]?.entries[address]?.retryAt = now + Self.firstRetryNanoseconds
        }
    }

    /// Removes a document of a peer; does nothing if the table does not contain it.
    package mutating func remove(_ address: DocumentAddress, of key: [UInt8]) {
        guard var documents = peers[key], documents.entries[address] != nil else { return }
        documents.entries[address] = nil
        count -= 1
        byteCount -= address.memoryLength
        peers[key] = documents.isEmpty ? nil : documents
        if peers.isEmpty { checkAt = nil }
    }

    /// Resets the number of omitted documents of a peer, since reconciliation finds them.
    mutating func removeOmitted(of key: [UInt8]) {
        guard var documents = peers[key] else { return }
        documents.omitted = nil
        peers[key] = documents.isEmpty ? nil : documents
        if peers.isEmpty { checkAt = nil }
    }

    /// Removes all documents of a peer, omitted ones included.
    package mutating func remove(peer key: [UInt8]) {
        for address in peers[key]?.entries.keys ?? [:].keys { remove(address, of: key) }
        removeOmitted(of: key)
    }

    /// Schedules a check for `now`, if any documents are quarantined.
    package mutating func scheduleCheck(at now: UInt64) {
        if !peers.isEmpty { checkAt = now }
    }

    /// Schedules the next check, at the wall time `earliest` or after the maximum interval.
    package mutating func scheduleCheck(after earliest: UInt64?, wall: UInt64, at now: UInt64) {
        guard !peers.isEmpty else { return checkAt = nil }
        var wait = Self.checkNanoseconds
        if let earliest, earliest > wall {
            let (nanoseconds, isTooLarge) = (earliest - wall).multipliedReportingOverflow(
                by: 1_000_000)
            if !isTooLarge { wait = min(wait, max(nanoseconds, 1_000_000)) }
        }
        checkAt = now + wait
    }

    /// Returns the documents of a peer that may be requested again, in order, up to the maximum.
    ///
    /// `comparesAll` is whether to reconcile instead, for the omitted documents.
    package func retriable(
        of key: [UInt8], _ clock: QuarantineClock
    ) -> (addresses: [DocumentAddress], comparesAll: Bool) {
        guard let documents = peers[key] else { return ([], false) }
        let comparesAll =
            documents.omitted.map { clock.accepts($0.earliest) } ?? false
            && documents.comparableAt <= clock.now
        var found: [DocumentAddress] = []
        for (address, entry) in documents.entries
        where clock.accepts(entry.time) || entry.retryAt.map({ $0 <= clock.now }) ?? false {
            found.append(address)
        }
        found.sort(by: <)
        var length = 0
        let fitting = found.prefix(Self.maximumAsked).prefix { address in
            length += address.memoryLength
            return length <= Self.maximumAskedBytes
        }
        return (Array(fitting), comparesAll)
    }

    /// Returns the earliest wall time at which a further document becomes acceptable.
    package func earliest(_ clock: QuarantineClock) -> UInt64? {
        var earliest: UInt64?
        for documents in peers.values {
            for time in documents.entries.values.map(\.time)
                + (documents.omitted.map { [$0.earliest] } ?? []) where !clock.accepts(time)
            {
                earliest = min(earliest ?? .max, clock.acceptableFrom(time))
            }
        }
        return earliest
    }
}

extension QuarantineTable.Documents {
    fileprivate mutating func omit(_ count: Int, _ time: HybridTime, comparableAt: UInt64) {
        omitted = (
            (omitted?.count ?? 0) + count, min(omitted?.earliest ?? time, time)
        )
        self.comparableAt = comparableAt
    }
}

/// The wall clock and the monotonic clock at one moment, to decide which documents are acceptable.
package struct QuarantineClock {
    let wall: UInt64
    let now: UInt64
    static let leniency = HybridClock.defaultLeniencyMilliseconds

    package init(wall: UInt64, now: UInt64) {
        (self.wall, self.now) = (wall, now)
    }

    /// Whether a document with this time is acceptable.
    func accepts(_ time: HybridTime) -> Bool { acceptableFrom(time) <= wall }

    /// Returns the wall time from which a document with this time is acceptable.
    func acceptableFrom(_ time: HybridTime) -> UInt64 {
        time.milliseconds - min(time.milliseconds, Self.leniency)
    }
}
