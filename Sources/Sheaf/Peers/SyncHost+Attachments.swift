import SheafSync

/// Files that are wanted of others, be it here, or by a peer that this one asks on for.
///
/// A wish says how far it may go. Each peer tells each neighbor the farthest wish that it has from anybody
/// else, less one: so wishes go around in no circle for long, and end when the one who began them does not
/// want the file any more. No wish needs a name for that.
extension SyncHost {
    /// What is known of all files that are wanted here.
    struct Files {
        var wanted: [AttachmentID: WantedFile] = [:]
        /// The same, in the order in which they came.
        var order: [AttachmentID] = []
        /// Whether sessions may have something to say.
        var isStirred = false
        /// Who was served last.
        var servedLink: UInt64 = 0
        /// When it was noted last that files that come are wanted.
        var touchedAt: UInt64 = 0
        /// Attachments with unproven tokens that were fetched for this peer, here or not.
        var wantedHere: Set<AttachmentID> = []
        /// When unproven tokens are looked up, and when that was done last.
        var tokenCheckAt: UInt64?
        var tokensCheckedAt: UInt64 = 0
        /// Files that nobody here wants, and others do.
        var relayedCount: Int { wanted.values.count { !$0.isOwn } }

        /// So many files are fetched for others at a time.
        static let mostRelayed = 64
        /// Who has not sent a part for so long is not waited for any more.
        static let stallNanoseconds: UInt64 = 20_000_000_000
        /// So often it is looked whether files may be read by those who seek them.
        static let checkNanoseconds: UInt64 = 1_000_000_000
        static let touchNanoseconds: UInt64 = 60_000_000_000
    }

    /// A file that is wanted.
    struct WantedFile {
        enum Phase {
            /// Nobody has told the hashes yet.
            case seeking
            /// Somebody tells them.
            case listing(link: UInt64, length: Int, hashes: [UInt8], asked: Int)
            case loading(IncomingAttachment)
        }

        var isOwn = false
        var phase = Phase.seeking
        /// The first chunk that was not asked for.
        var next = 0
        /// Chunks before that which have to be asked for once more.
        var again: [Int] = []
        /// The keys of those who have told something that is not true of this file.
        var liars: Set<[UInt8]> = []
    }

    /// What two peers have said to each other about files.
    struct FileTalk {
        /// A wish of the other side.
        struct Wish {
            var hops: Int
            /// Whether the other side may have the file.
            var mayRead = false
        }

        var sought: [AttachmentID: Wish] = [:]
        /// Which files were offered to the other side, which may ask for them from then on.
        var granted: Set<AttachmentID> = []
        /// The file of which it has asked last.
        var reading: AttachmentFile?
        /// What this side has said that it seeks, and how far.
        var told: [AttachmentID: Int] = [:]
        /// What the other side has offered, and how long it says that is.
        var offered: [AttachmentID: Int] = [:]
        /// What was asked for, in this order.
        var asked: [AttachmentPart] = []
        /// When the first of that was asked for, or something came.
        var heardAt: UInt64 = 0
        /// Whether others were asked for what it was asked for, since nothing came.
        var isStalled = false
        /// When it is looked again whether the other side may have what it seeks.
        var checkAt: UInt64?
        var checkedAt: UInt64 = 0
        /// The proofs of possession that the other side gives, in their order.
        var checks: [PossessionCheck] = []
        /// What it has proved to possess, or may read by a proven token.
        var possessed: Set<AttachmentID> = []
        /// What it has failed to prove over this connection.
        var failedChecks: Set<AttachmentID> = []
        /// Tokens of which the other side was asked whether they are proven, and those of which it has asked.
        var proofsAsked: Set<TokenAddress> = []
        var proofsOwed: [TokenAddress: OwedProof] = [:]
        /// Whether the next turn checks further tokens of `proofsOwed`.
        var isCheckingProofs = false
        /// Wanted attachments that are named by a document the other side may read.
        var known: Set<AttachmentID> = []
    }

    /// What became of a file that is wanted here.
    package enum FetchNews: Sendable {
        case progress(received: Int, length: Int)
        case whole(length: Int)
        case failed(AttachmentError)
    }

    // MARK: Wishes

    /// Wants a file from now on, until it is here.
    package func fetch(_ id: AttachmentID, at now: UInt64) {
        self.now = now
        noteWantedHere(id)
        want(id, isOwn: true)
        settleFiles()
    }

    /// Does not want a file any more; what came of it stays for a while.
    package func cancelFetch(_ id: AttachmentID) {
        guard files.wanted[id]?.isOwn ?? false else { return }
        files.wanted[id]?.isOwn = false
        review(id)
        settleFiles()
    }

    private func want(_ id: AttachmentID, isOwn: Bool) {
        guard let attachments else { return }
        if files.wanted[id] == nil {
            guard isOwn || files.relayedCount < Files.mostRelayed else { return }
            files.wanted[id] = WantedFile()
            files.order.append(id)
        }
        if isOwn { files.wanted[id]?.isOwn = true }
        do throws(AttachmentError) {
            try begin(id, with: try attachments.beginFetch(id))
        } catch {
            return failFile(id, error)
        }
        tellWish(id)
    }

    /// Goes on with what there is of a file.
    func begin(
        _ id: AttachmentID, with state: AttachmentStore.FetchState
    ) throws(AttachmentError) {
        switch state {
        case .unknown: break
        case .whole: try completeFile(id)
        case .incoming(let incoming):
            if case .loading(let known)? = files.wanted[id]?.phase, known === incoming {
                return report(id)
            }
            files.wanted[id]?.phase = .loading(incoming)
            files.wanted[id]?.next = 0
            files.wanted[id]?.again = []
            report(id)
        }
    }

    /// Says how much of a file is here.
    func report(_ id: AttachmentID) {
        guard let file = files.wanted[id], file.isOwn, case .loading(let incoming) = file.phase
        else { return }
        emit(
            .fetched(
                id, .progress(received: incoming.receivedLength, length: incoming.length)))
    }

    /// Fetches a file for others, or ends that, as their wishes are now.
    func review(_ id: AttachmentID) {
        let isRelayed = links.values.contains { link in
            // The last peer that a wish reaches asks nobody.
            guard let wish = link.files.sought[id] else { return false }
            return wish.mayRead && wish.hops > 1
        }
        switch files.wanted[id] {
        case nil where isRelayed: want(id, isOwn: false)
        case let file? where !file.isOwn && !isRelayed: forgetFile(id)
        default: tellWish(id)
        }
    }

    private func forgetFile(_ id: AttachmentID) {
        guard let file = files.wanted.removeValue(forKey: id) else { return }
        // What has come by then need not come again.
        if case .loading(let incoming) = file.phase { _ = try? incoming.settle() }
        removeIfEmpty(id)
        files.order.removeAll { $0 == id }
        for link in links.values { link.files.known.remove(id) }
        tellWish(id)
        // There may be room for other wishes.
        if files.order.count >= SyncLimits.soughtAttachments {
            for link in allLinks { tellWantedFiles(link) }
        }
    }

    /// All of a file is here: those who seek it hear of that.
    func completeFile(_ id: AttachmentID) throws(AttachmentError) {
        guard let list = try attachments?.chunkList(of: id) else { throw .missing(id) }
        let isOwn = files.wanted[id]?.isOwn ?? false
        forgetFile(id)
        if isOwn { emit(.fetched(id, .whole(length: list.length))) }
        for link in allLinks { offer(id, to: link) }
    }

    func failFile(_ id: AttachmentID, _ error: AttachmentError) {
        let isOwn = files.wanted[id]?.isOwn ?? false
        forgetFile(id)
        if isOwn { emit(.fetched(id, .failed(error))) }
    }

    /// Tells all others how far the wish for a file goes, where that has changed.
    func tellWish(_ id: AttachmentID) {
        checkTokensSoon()
        for link in allLinks { tellWish(id, to: link) }
    }

    /// Tells one peer of all files that are wanted.
    func tellWantedFiles(_ link: Link) {
        for id in files.order { tellWish(id, to: link) }
    }

    private func tellWish(_ id: AttachmentID, to link: Link) {
        guard link.session.isOpen else { return }
        let hops = hops(of: id, to: link)
        let told = link.files.told[id] ?? 0
        guard hops != told else { return }
        guard told > 0 || link.files.told.count < SyncLimits.soughtAttachments else { return }
        link.files.told[id] = hops > 0 ? hops : nil
        // The other side forgets that it has offered it, too.
        if hops == 0 { link.files.offered[id] = nil }
        link.session.seek(Seek(id: id.bytes, hops: hops))
        files.isStirred = true
    }

    private func hops(of id: AttachmentID, to link: Link) -> Int {
        // A proof is asked for in the same way, whether or not the attachment is wanted.
        guard link.files.check(of: id) == nil else { return SyncLimits.hops }
        guard let file = files.wanted[id] else { return 0 }
        // What a peer with limited rights may not know of is not sought of it.
        guard !isLimited(link) || link.files.known.contains(id) else {
            checkSoon(link)
            return 0
        }
        guard !file.isOwn else { return SyncLimits.hops }
        let others = links.values.compactMap { other -> Int? in
            guard other !== link, let wish = other.files.sought[id], wish.mayRead else {
                return nil
            }
            return wish.hops - 1
        }
        return max(others.max() ?? 0, 0)
    }

    // MARK: Time

    /// Does what there is to do about files, a part at a time.
    func tickFiles() {
        guard attachments != nil else { return }
        checkTokens()
        for link in allLinks {
            checkReaders(link)
            checkStall(link)
        }
        serveNextPart()
        if !files.wanted.isEmpty, files.touchedAt + Files.touchNanoseconds <= now {
            files.touchedAt = now
            for id in files.order { attachments?.touch(id) }
        }
        settleFiles()
    }

    /// When time matters next for files.
    var filesDeadline: UInt64? {
        if links.values.contains(where: { $0.session.nextServed != nil }) { return now }
        var deadlines = links.values.compactMap(\.files.checkAt)
        for link in links.values where !link.files.asked.isEmpty && link.session.isOpen {
            deadlines.append(link.files.heardAt + Files.stallNanoseconds)
        }
        if let time = files.tokenCheckAt { deadlines.append(time) }
        if !files.wanted.isEmpty { deadlines.append(files.touchedAt + Files.touchNanoseconds) }
        return deadlines.min()
    }

    /// Sends what was said to sessions, and does what comes of that, until there is nothing more.
    func settleFiles() {
        askForParts()
        while files.isStirred {
            files.isStirred = false
            for link in allLinks { handle(link) }
            askForParts()
        }
    }

    /// New commits may name files that others seek, and files may have come otherwise.
    func checkFiles() {
        guard let attachments else { return }
        checkTokensSoon()
        for id in files.order where (try? attachments.has(id)) ?? false {
            do throws(AttachmentError) { try completeFile(id) } catch { failFile(id, error) }
        }
        for link in allLinks {
            answerProofs(on: link)
            for id in link.files.sought.keys.sorted(by: { $0.description < $1.description }) {
                offer(id, to: link)
            }
            let seeksUnread = link.files.sought.values.contains { !$0.mayRead }
            let isUnknown = isLimited(link) && !link.files.known.isSuperset(of: files.order)
            if seeksUnread || isUnknown { checkSoon(link) }
        }
    }

    /// Makes durable what has come of files, so that it need not come again.
    func settleParts() {
        for file in files.wanted.values {
            if case .loading(let incoming) = file.phase { _ = try? incoming.settle() }
        }
    }

    /// A connection is no more.
    func noteLost(_ link: Link) {
        for part in link.files.asked { askAgain(part, of: link) }
        link.files.asked = []
        for check in link.files.checks { removeIfEmpty(check.id) }
        for id in link.files.sought.keys.sorted(by: { $0.description < $1.description }) {
            review(id)
        }
    }
}
