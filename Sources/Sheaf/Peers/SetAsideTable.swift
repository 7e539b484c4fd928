import SheafDocument
import SheafSync

/// Documents of peers that were not written, since they are stamped too far ahead of the clock here.
///
/// Their bytes are not kept: the addresses are, with the time from which on a document may be taken. It is asked
/// for again then. Of more documents than there is room for, only the earliest time is kept, and all is
/// compared at that time.
struct SetAsideTable {
    /// One document.
    struct Entry {
        /// The latest time of its dots.
        var time: HybridTime
        /// When it is asked for again before its time, since it was written from elsewhere; nil where it is not.
        var retryAt: UInt64?
        /// How long that is put off the next time.
        var retryNanoseconds = SetAsideTable.firstRetryNanoseconds
    }

    /// The documents of one peer.
    struct Documents {
        fileprivate(set) var entries: [DocumentAddress: Entry] = [:]
        /// Number of documents that there was no room for, and the earliest time of them.
        fileprivate(set) var omitted: (count: Int, earliest: HybridTime)?
        /// When all may be compared for those.
        fileprivate var comparableAt: UInt64 = 0
        /// The latest time of all that were set aside since there were none.
        fileprivate(set) var latest = HybridTime.initial

        var count: Int { entries.count + (omitted?.count ?? 0) }
        var isEmpty: Bool { count == 0 }
    }

    /// Maximum number of documents of all peers together, and of the bytes of their addresses.
    static let most = 4_096
    private static let mostBytes = 1 << 20
    /// Maximum number of documents, and of bytes of their addresses, that are asked for at once.
    private static let mostAsked = 512
    private static let mostAskedBytes = 128 << 10
    fileprivate static let firstRetryNanoseconds: UInt64 = 30_000_000_000
    private static let mostRetryNanoseconds: UInt64 = 3_600_000_000_000
    /// All is compared for documents without room no more often than this.
    private static let compareNanoseconds: UInt64 = 60_000_000_000
    /// The clock on the wall may be set at any time, so it is read this often.
    private static let checkNanoseconds: UInt64 = 30_000_000_000

    private var peers: [[UInt8]: Documents] = [:]
    private var count = 0
    private var byteCount = 0
    /// When documents are looked through next; nil where there are none.
    private(set) var checkAt: UInt64?

    subscript(key: [UInt8]) -> Documents? { peers[key] }

    var isEmpty: Bool { peers.isEmpty }

    /// The addresses of the documents of all peers.
    var addresses: Set<DocumentAddress> {
        guard count > 0 else { return [] }
        return peers.values.reduce(into: []) { $0.formUnion($1.entries.keys) }
    }

    /// The peers that have documents here.
    var keys: [[UInt8]] { peers.keys.sorted { $0.lexicographicallyPrecedes($1) } }

    /// Notes a document of a peer that was not written.
    mutating func add(
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
                    2 * entry.retryNanoseconds, Self.mostRetryNanoseconds)
            }
            documents.entries[address] = entry
        } else if count < Self.most, byteCount + length <= Self.mostBytes {
            documents.entries[address] = Entry(time: time)
            (count, byteCount) = (count + 1, byteCount + length)
        } else {
            documents.omit(1, time, comparableAt: now + Self.compareNanoseconds)
        }
        peers[key] = documents
    }

    /// Notes documents that there was no room for on their way here.
    mutating func omit(_ count: Int, _ earliest: HybridTime, of key: [UInt8], at now: UInt64) {
        guard count > 0 else { return }
        checkAt = checkAt.map { min($0, now) } ?? now
        var documents = peers[key, default: Documents()]
        documents.omit(count, earliest, comparableAt: now + Self.compareNanoseconds)
        documents.latest = max(documents.latest, earliest)
        peers[key] = documents
    }

    /// Notes a document that a peer has sent and that is here now.
    mutating func settle(_ address: DocumentAddress, of key: [UInt8], at now: UInt64) {
        remove(address, of: key)
        // Others may have it as it is now, and may not send it for that.
        for other in peers.keys where peers[other]?.entries[address] != nil {
            peers[other]?.entries[address]?.retryAt = now + Self.firstRetryNanoseconds
        }
    }

    /// Removes a document of a peer.
    mutating func remove(_ address: DocumentAddress, of key: [UInt8]) {
        guard var documents = peers[key], documents.entries[address] != nil else { return }
        documents.entries[address] = nil
        count -= 1
        byteCount -= address.memoryLength
        peers[key] = documents.isEmpty ? nil : documents
        if peers.isEmpty { checkAt = nil }
    }

    /// Forgets the documents of a peer that there was no room for: all are compared.
    mutating func removeOmitted(of key: [UInt8]) {
        guard var documents = peers[key] else { return }
        documents.omitted = nil
        peers[key] = documents.isEmpty ? nil : documents
        if peers.isEmpty { checkAt = nil }
    }

    /// Forgets a peer, with which all has to be compared again.
    mutating func remove(peer key: [UInt8]) {
        for address in peers[key]?.entries.keys ?? [:].keys { remove(address, of: key) }
        removeOmitted(of: key)
    }

    /// Has documents looked through with the next event.
    mutating func scheduleCheck(at now: UInt64) {
        if !peers.isEmpty { checkAt = now }
    }

    /// Notes that documents were looked through, and when that is due again.
    mutating func scheduleCheck(after earliest: UInt64?, wall: UInt64, at now: UInt64) {
        guard !peers.isEmpty else { return checkAt = nil }
        var wait = Self.checkNanoseconds
        if let earliest, earliest > wall {
            let (nanoseconds, isTooLarge) = (earliest - wall).multipliedReportingOverflow(
                by: 1_000_000)
            if !isTooLarge { wait = min(wait, max(nanoseconds, 1_000_000)) }
        }
        checkAt = now + wait
    }

    /// The documents of a peer that may be taken by now, as many as are asked for at once, in order.
    func due(
        of key: [UInt8], _ clock: SetAsideClock
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
        let fitting = found.prefix(Self.mostAsked).prefix { address in
            length += address.memoryLength
            return length <= Self.mostAskedBytes
        }
        return (Array(fitting), comparesAll)
    }

    /// The earliest time on the wall at which a document may be taken that may not be taken yet.
    func earliest(_ clock: SetAsideClock) -> UInt64? {
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

extension SetAsideTable.Documents {
    fileprivate mutating func omit(_ count: Int, _ time: HybridTime, comparableAt: UInt64) {
        omitted = (
            (omitted?.count ?? 0) + count, min(omitted?.earliest ?? time, time)
        )
        self.comparableAt = comparableAt
    }
}

/// The clocks by which documents that were set aside may be taken.
struct SetAsideClock {
    let wall: UInt64
    let now: UInt64
    static let leniency = HybridClock.defaultLeniencyMilliseconds

    /// Whether a document of this time may be taken.
    func accepts(_ time: HybridTime) -> Bool { acceptableFrom(time) <= wall }

    /// The time on the wall from which on a document of this time may be taken.
    func acceptableFrom(_ time: HybridTime) -> UInt64 {
        time.milliseconds - min(time.milliseconds, Self.leniency)
    }
}

extension DocumentAddress {
    /// About how many bytes it takes.
    var memoryLength: Int { collection.utf8.count + id.count + 64 }
}
