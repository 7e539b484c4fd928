import SheafDocument
import SheafStorage
import SheafSync

extension SyncHost {
    /// How many documents are kept that other sides have to be told of.
    package var correctionCount: Int { corrections.count }

    /// Sends whole what the other side has sent an older state of, unless it matched before: then it was
    /// sent, or will be.
    ///
    /// They are known behind a commit here: before that is durable there is only what is older.
    func correct(_ known: [WriteJob.Known], behind here: CommitID? = nil, on link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        guard !link.isLimited else { return correctLimited(known, behind: here, on: link) }
        guard let matcher = link.telling?.matcher else {
            // Where it has to wait for its turn, it is not known what it wants.
            guard paces.hasSubscribed(key) else { return }
            for document in known { corrections.insert(document.address, for: key) }
            return forgetExcessCorrections()
        }
        let snapshot = news.snapshot
        for document in known where matcher.asks(for: document.address.collection) {
            guard let documentKey = snapshot.key(of: document.address) else { continue }
            // Without a result, because the turn of the loop is over, it is sent once too often.
            let hasMatched = try? matcher.matches(
                document.before, key: documentKey, in: document.address.collection, snapshot.names)
            if hasMatched != true {
                corrections.insert(document.address, for: key)
                if let here, here > snapshot.log.commit {
                    link.telling?.wholeLater.append((here, document.address))
                } else {
                    link.telling?.whole.insert(document.address)
                }
            }
        }
        forgetExcessCorrections()
    }

    /// Has those sent that are durable by now.
    func correctDurable(_ link: Link) {
        guard let later = link.telling?.wholeLater, !later.isEmpty else { return }
        let durable = news.snapshot.log.commit
        for (here, address) in later where here <= durable { link.telling?.whole.insert(address) }
        link.telling?.wholeLater.removeAll { $0.here <= durable }
    }

    /// Who has too much to be told compares instead: now, or when it comes again with a cursor.
    private func forgetExcessCorrections() {
        let connected = Set(links.values.compactMap { $0.session.remote?.peerKey })
        let forgotten = corrections.forgetExcess(
            connected: connected, newest: news.snapshot.log.commit)
        guard !forgotten.isEmpty else { return }
        for link in allLinks where link.telling?.isStreaming == true {
            guard let key = link.session.remote?.peerKey, forgotten.contains(key) else { continue }
            link.telling?.whole = []
            link.telling?.wholeLater = []
            restart(link)
        }
    }

    /// What is to be corrected for a side that has subscribed anew.
    func outstandingCorrections(of link: Link) -> Set<DocumentAddress> {
        guard let key = link.session.remote?.peerKey, let matcher = link.telling?.matcher else {
            return []
        }
        corrections.beginAnew(key)
        return corrections.documents(for: key).filter { matcher.asks(for: $0.collection) }
    }

    /// Notes which acknowledgement says that the corrections of a step have come.
    func noteSent(_ outgoing: Outgoing, on link: Link) {
        guard !link.isLimited else { return noteSentToLimited(outgoing, on: link) }
        guard !outgoing.whole.isEmpty, let key = link.session.remote?.peerKey else { return }
        let commit = outgoing.snapshot.log.commit
        corrections.noteSent(
            outgoing.whole, with: outgoing.isRepeated ? commit + 1 : commit, to: key)
    }

    func noteCorrected(through commit: CommitID, on link: Link) {
        guard let key = link.session.remote?.peerKey else { return }
        corrections.noteAcknowledged(commit, by: key)
    }
}
