import SheafStorage
import SheafSync

/// Documents of which another side has sent an older state than there is here, and that it has not asked for
/// as they are now: it is told of them, or it would keep what is out of date.
///
/// Nothing else says that it lacks them: its cursor is behind their last change, and they match no more. So
/// they are kept until it has acknowledged them, also over connections that break.
struct Corrections {
    /// What is to be sent, or was sent and not acknowledged.
    private(set) var documents: Set<DocumentAddress> = []
    /// What was sent with which commit.
    private var sent: [(commit: CommitID, documents: Set<DocumentAddress>)] = []

    mutating func insert(_ address: DocumentAddress) {
        documents.insert(address)
        // What was sent before may have been older.
        for index in sent.indices { sent[index].documents.remove(address) }
    }

    mutating func noteSent(_ addresses: Set<DocumentAddress>, with commit: CommitID) {
        sent.append((commit, addresses.intersection(documents)))
    }

    mutating func noteAcknowledged(_ commit: CommitID) {
        let count = sent.prefix { $0.commit <= commit }.count
        for (_, addresses) in sent[..<count] { documents.subtract(addresses) }
        sent.removeFirst(count)
    }

    /// What was sent on a connection that is over, or for another subscription, may not have come.
    mutating func beginAnew() { sent = [] }
}

/// What is to be corrected on all other sides, by the keys of peers.
struct CorrectionTable {
    private struct Entry {
        var corrections = Corrections()
        /// When something was added last, as the table counts.
        var changedAt: UInt64 = 0
    }

    private var entries: [[UInt8]: Entry] = [:]
    private var changeCount: UInt64 = 0
    /// So many documents are kept for all peers together; with more, somebody has to compare.
    private let most: Int
    private(set) var count = 0
    /// Corrections were forgotten: who goes on from this commit, or one before it, may lack some.
    private(set) var forgottenThrough: CommitID?

    static let most = 1 << 16

    init(most: Int) {
        self.most = most
    }

    /// What a peer has to be told.
    func documents(for key: [UInt8]) -> Set<DocumentAddress> {
        entries[key]?.corrections.documents ?? []
    }

    mutating func insert(_ address: DocumentAddress, for key: [UInt8]) {
        changeCount += 1
        entries[key, default: Entry()].changedAt = changeCount
        change(key) { $0.insert(address) }
    }

    mutating func noteSent(
        _ addresses: Set<DocumentAddress>, with commit: CommitID, to key: [UInt8]
    ) {
        change(key) { $0.noteSent(addresses, with: commit) }
    }

    mutating func noteAcknowledged(_ commit: CommitID, by key: [UInt8]) {
        change(key) { $0.noteAcknowledged(commit) }
    }

    mutating func beginAnew(_ key: [UInt8]) {
        change(key) { $0.beginAnew() }
    }

    private mutating func change(_ key: [UInt8], _ body: (inout Corrections) -> Void) {
        guard var corrections = entries[key]?.corrections else { return }
        count -= corrections.documents.count
        // Changed where it is, and not in a copy.
        entries[key]?.corrections = Corrections()
        body(&corrections)
        count += corrections.documents.count
        if corrections.documents.isEmpty {
            entries[key] = nil
        } else {
            entries[key]?.corrections = corrections
        }
    }

    /// Forgets what some peers have to be told, where that is too much in all; returns which.
    ///
    /// Those go first who are not connected, and of these who was there longest ago; then whoever needs most.
    mutating func forgetExcess(
        connected: Set<[UInt8]>, newest commit: CommitID
    ) -> [[UInt8]] {
        var forgotten: [[UInt8]] = []
        while count > most {
            let absent = entries.filter { !connected.contains($0.key) }
            let victim =
                absent.min { $0.value.changedAt < $1.value.changedAt }
                ?? entries.max {
                    ($0.value.corrections.documents.count, $1.value.changedAt)
                        < ($1.value.corrections.documents.count, $0.value.changedAt)
                }
            guard let victim else { break }
            count -= victim.value.corrections.documents.count
            entries[victim.key] = nil
            forgotten.append(victim.key)
            forgottenThrough = commit
        }
        return forgotten
    }
}
