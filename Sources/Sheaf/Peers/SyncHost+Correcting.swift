import SheafDocument
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

    /// With more the two compare what they have.
    static let most = 1 << 16

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

extension SyncHost {
    /// Sends whole what the other side has sent an older state of, unless it matched before: then it was
    /// sent, or will be.
    func correct(_ known: [WriteJob.Known], on link: Link) {
        guard let matcher = link.telling?.matcher, let key = link.session.remote?.peerKey else {
            return
        }
        let snapshot = news.snapshot
        for document in known where matcher.asks(for: document.address.collection) {
            guard let documentKey = snapshot.key(of: document.address) else { continue }
            let hasMatched = try? matcher.matches(
                document.before, key: documentKey, in: document.address.collection, snapshot.names)
            if hasMatched == false {
                corrections[key, default: Corrections()].insert(document.address)
                link.telling?.whole.insert(document.address)
            }
        }
        guard corrections[key]?.documents.count ?? 0 > Corrections.most else { return }
        corrections[key] = nil
        restart(link)
    }

    /// What is to be corrected for a side that has subscribed anew.
    func outstandingCorrections(of link: Link) -> Set<DocumentAddress> {
        guard let key = link.session.remote?.peerKey else { return [] }
        corrections[key]?.beginAnew()
        return corrections[key]?.documents ?? []
    }

    func noteSent(_ addresses: Set<DocumentAddress>, with commit: CommitID, on link: Link) {
        guard !addresses.isEmpty, let key = link.session.remote?.peerKey else { return }
        corrections[key]?.noteSent(addresses, with: commit)
    }

    func noteCorrected(through commit: CommitID, on link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        corrections[key]?.noteAcknowledged(commit)
        if corrections[key]?.documents.isEmpty == true { corrections[key] = nil }
    }
}
