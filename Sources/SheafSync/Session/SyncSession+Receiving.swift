import SheafBytes
import SheafDocument

/// The receiving half of a session.
extension SyncSession {
    struct Receiver: Sendable {
        enum Phase {
            /// No subscription was sent.
            case idle
            /// The host builds its version list.
            case listing
            case comparing(RangeRequester)
            /// A wanted part is arriving; the question is sent after it, or the next `want` if nil.
            case receivingPart(RangeRequester, RangeQuestion?)
            case streaming
        }

        var phase = Phase.idle
        var request: Subscribe?
        var segments = ShippedSegmentReader()
        /// Fragments of a segment whose end was not received.
        var fragments: [UInt8] = []
        /// Whether the last fragment is not the end of its segment.
        var isWithinSegment = false
        /// Names that the peer has numbered.
        var names = NameTable()
        /// The commit of the partially received batch.
        var stagedCommit: UInt64?
        /// Received bytes for which no credit was returned yet.
        var unpaidLength = 0
        /// Whether credit is withheld until a batch is written.
        var isHolding = false
        /// Maximum number of documents wanted at a time.
        var maximumWanted = SyncLimits.wantedDocuments
        /// Whether differing documents are reported to the host.
        var reportsDifferences = false
        /// Expanded length of the partially received batch, in bytes.
        var stagedLength = 0
        /// Number of bytes that the peer may still send.
        var granted = SyncLimits.credit
        /// Credit that was not sent to the peer yet, in bytes.
        var unsentCredit = 0
        /// Whether no credit is sent.
        var withholdsCredit = false
        /// The commit of the last batch or announcement; that of the next one is not smaller.
        var lastCommit: UInt64 = 0
    }

    /// The generation of the current subscription.
    package var requestedGeneration: UInt64 { receiver.request?.generation ?? 0 }

    /// Replaces the subscription; without a cursor, begins a reconciliation.
    package mutating func subscribe(_ request: Subscribe) {
        precondition(isOpen && request.generation > requestedGeneration, "Generations increase.")
        receiver.request = request
        abandonStaged()
        receiver.lastCommit = request.cursor?.commit ?? 0
        for part in request.parts { send(.subscribe, part.bytes) }
        guard isOpen else { return }
        receiver.phase = .streaming
        if request.cursor == nil { startComparing() }
    }

    private mutating func startComparing() {
        receiver.phase = .listing
        emit(.listOwn(generation: requestedGeneration))
    }

    /// Starts reconciling the local version list with that of the peer.
    ///
    /// - Parameters:
    ///   - most: Maximum number of documents wanted at a time.
    ///   - reportsDifferences: Whether `differing` effects are emitted.
    ///   - isRanked: Whether a query has a LIMIT.
    package mutating func compare(
        with list: VersionList, most: Int = SyncLimits.wantedDocuments,
        reportsDifferences: Bool = false, isRanked: Bool = false
    ) {
        guard case .listing = receiver.phase else { return }
        receiver.maximumWanted = most
        receiver.reportsDifferences = reportsDifferences
        guard !list.isEmpty else {
            // There is nothing to compare, so everything is requested.
            send(.want, Want(generation: requestedGeneration, .all).bytes)
            receiver.phase = .streaming
            return
        }
        // Neither shows the addresses of the sender's documents.
        let requester = RangeRequester(
            list, usesSketches: !reportsDifferences,
            usesRanges: !reportsDifferences && !isRanked)
        sendRequest(requester.firstQuestion)
        receiver.phase = .comparing(requester)
    }

    private mutating func sendRequest(_ question: RangeQuestion) {
        send(.ask, Generational.bytes(requestedGeneration, question.bytes))
    }

    /// Acknowledges that all commits of the peer up to `commit` are durable.
    package mutating func acknowledge(commit: UInt64, of generation: UInt64) {
        guard isOpen, generation == requestedGeneration else { return }
        send(.acknowledge, Acknowledge(generation: generation, commit: commit).bytes)
    }

    /// Reports documents that the peer is not authorized to write; ignores an older generation.
    package mutating func report(_ notice: RefusedNotice) {
        guard isOpen, notice.generation == requestedGeneration else { return }
        send(.refused, notice.bytes)
    }

    /// Asks the peer to announce commits instead of sending them.
    ///
    /// Does nothing and returns false unless the peer sends commits. The next subscription resumes
    /// sending.
    @discardableResult
    package mutating func announceOnly() -> Bool {
        guard isOpen, case .streaming = receiver.phase else { return false }
        send(.announceOnly, SingleNumber.bytes(requestedGeneration))
        return true
    }

    mutating func handleRestart(_ generation: UInt64) throws(WireError) {
        guard generation == requestedGeneration else { return try checkPast(generation) }
        guard case .streaming = receiver.phase else {
            throw .outOfOrder("a restart during reconciliation")
        }
        abandonStaged()
        receiver.lastCommit = 0
        startComparing()
    }

    mutating func handleAnnounce(_ message: Announce) throws(WireError) {
        guard message.generation == requestedGeneration else {
            return try checkPast(message.generation)
        }
        guard case .streaming = receiver.phase, message.commit >= receiver.lastCommit,
            receiver.stagedCommit == nil
        else { throw .outOfOrder("an announcement of commit \(message.commit)") }
        receiver.lastCommit = message.commit
        emit(.announced(message))
    }

    mutating func handleAnswer(_ frame: Frame) throws(WireError) {
        let (generation, answer) = try frame.read { (body) throws(Malformed) in
            let message = try Generational(decoding: body)
            return (message.generation, try RangeAnswer(decoding: message.rest))
        }
        guard generation == requestedGeneration else { return try checkPast(generation) }
        guard case .comparing(var requester) = receiver.phase else {
            throw .outOfOrder("an answer without a request")
        }
        switch try requester.process(answer) {
        case .request(let question): try goOn(with: requester, receiver: question)
        case .done:
            requester.endComparing()
            try goOn(with: requester, receiver: nil)
        }
    }

    /// Sends the next range request, or requests some or all of the documents that differ.
    ///
    /// Documents that only this peer has are requested too: the sender may have states of them that
    /// do not match the subscription.
    private mutating func goOn(
        with asker: RangeRequester, receiver question: RangeQuestion?
    ) throws(WireError) {
        var requester = asker
        let most = receiver.maximumWanted
        if let question {
            // This bounds the memory of the differences found.
            guard requester.difference.wanted.count >= most else {
                sendRequest(question)
                receiver.phase = .comparing(requester)
                return
            }
            try sendWant(requester.removeWanted(most: most), isPart: true)
            receiver.phase = .receivingPart(requester, question)
        } else if requester.difference.count > most {
            try sendWant(requester.removeDiffering(most: most), isPart: true)
            receiver.phase = .receivingPart(requester, nil)
        } else {
            receiver.phase = .streaming
            for ranges in requester.removeRanges() {
                send(.want, Want(generation: requestedGeneration, .ranges(ranges)).bytes)
            }
            let versions = requester.removeVersions()
            if !versions.isEmpty {
                send(.want, Want(generation: requestedGeneration, .versions(versions)).bytes)
            }
            try sendWant(requester.removeDiffering(most: most), isPart: false)
        }
    }

    /// Requests documents, as a part of the differing ones or as the last of them.
    private mutating func sendWant(_ differing: [[UInt8]], isPart: Bool) throws(WireError) {
        var addresses: [DocumentAddress] = []
        for bytes in differing {
            do throws(Malformed) {
                addresses.append(try DocumentAddress(decoding: bytes))
            } catch {
                throw .malformed(error)
            }
        }
        if receiver.reportsDifferences { emit(.differing(addresses)) }
        // This number of entries of maximum length fits in a message.
        let most = max(
            1, SyncLimits.frameLength / (SyncLimits.idLength + SyncLimits.collectionLength))
        var rest = addresses[...]
        repeat {
            var count = 0
            var length = 0
            while count < rest.count, count < most || length < SyncLimits.frameLength / 2 {
                let address = rest[rest.startIndex + count]
                length += address.id.count + address.collection.utf8.count + 8
                count += 1
            }
            let named = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let documents: Want.Documents =
                isPart && rest.isEmpty
                ? .part(named) : .some(named, isContinued: !rest.isEmpty)
            send(.want, Want(generation: requestedGeneration, documents).bytes)
        } while !rest.isEmpty
    }

    mutating func handleSegment(_ frame: Frame) throws(WireError) {
        guard frame.body.count <= receiver.granted else {
            throw .outOfOrder("a segment of \(frame.body.count) bytes exceeds the credit")
        }
        receiver.granted -= frame.body.count
        let (header, isComplete) = try handleFragment(frame)
        guard isComplete else {
            grantUnused(frame.body.count, isUsed: header == requestedGeneration)
            return
        }
        let (commits, length) = try expandPieces()
        guard header == requestedGeneration else {
            try checkPast(header)
            grant(frame.body.count)
            return
        }
        receiver.stagedLength += length
        switch receiver.phase {
        case .streaming, .receivingPart: break
        default: throw .outOfOrder("a segment before `want` or a cursor")
        }
        receiver.unpaidLength += frame.body.count
        try stage(commits)
        releaseStagedCredit()
    }

    private mutating func grantUnused(_ length: Int, isUsed: Bool) {
        if isUsed { receiver.unpaidLength += length } else { grant(length) }
        releaseStagedCredit()
    }

    /// Stores a fragment of a segment; returns its generation, and whether it was the last one.
    private mutating func handleFragment(_ frame: Frame) throws(WireError) -> (UInt64, Bool) {
        let (generation, flag, block) = try frame.read { (body) throws(Malformed) in
            var reader = ByteReader(body)
            let generation = try reader.readVarint()
            let flag = try reader.readUInt8()
            guard flag <= 1 else { throw .unexpected(flag, at: reader.offset - 1) }
            return (generation, flag, Array(try reader.readBytes(reader.remaining)))
        }
        guard receiver.fragments.count + block.count <= SyncLimits.segmentLength + 64 else {
            throw .malformed(
                .tooLong(
                    at: 0, length: UInt64(receiver.fragments.count + block.count),
                    limit: UInt64(SyncLimits.segmentLength + 64)))
        }
        receiver.fragments += block
        receiver.isWithinSegment = flag == 1
        return (generation, flag == 0)
    }

    /// Returns the commits of a segment, and its length before compression.
    private mutating func expandPieces() throws(WireError) -> ([ShippedCommit], length: Int) {
        let pieces = receiver.fragments
        receiver.fragments = []
        var segments = receiver.segments
        defer { receiver.segments = segments }
        do throws(Malformed) {
            let raw = try pieces.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try segments.raw(of: bytes)
            }
            var names = receiver.names
            receiver.names = NameTable()
            defer { receiver.names = names }
            let commits = try raw.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try WireNameDictionary.commits(in: bytes, &names)
            }
            return (commits, raw.count)
        } catch {
            throw .malformed(error)
        }
    }

    /// Emits complete batches, and the received part of the last one.
    private mutating func stage(_ commits: [ShippedCommit]) throws(WireError) {
        var first = 0
        for (index, commit) in commits.enumerated() {
            guard commit.commit >= receiver.lastCommit,
                receiver.stagedCommit ?? commit.commit == commit.commit
            else { throw .outOfOrder("unexpected commit \(commit.commit)") }
            guard receiver.stagedLength <= maximumStagedLength else {
                throw .outOfOrder("a batch of \(receiver.stagedLength) bytes exceeds the limit")
            }
            if commit.isContinued {
                receiver.stagedCommit = commit.commit
                continue
            }
            receiver.lastCommit = commit.commit
            try checkPhase(of: commit, isLast: index == commits.count - 1)
            apply(commits[first...index], length: receiver.unpaidLength)
            dropStaged()
            first = index + 1
            guard commit.endsPart, case .receivingPart(let requester, let question) = receiver.phase
            else { continue }
            try goOn(with: requester, receiver: question)
        }
        if first < commits.count { apply(commits[first...], length: 0) }
    }

    /// Checks that a batch belongs to the requested part, or follows the reconciliation.
    private func checkPhase(of step: ShippedCommit, isLast: Bool) throws(WireError) {
        guard case .receivingPart = receiver.phase else {
            guard !step.endsPart else {
                throw .outOfOrder("the end of a part that was not requested")
            }
            return
        }
        guard step.isCut else {
            throw .outOfOrder("commit \(step.commit), not cut, before the last `want`")
        }
        guard isLast || !step.endsPart else {
            throw .outOfOrder("more commits in the segment that ends a part")
        }
    }

    private mutating func apply(_ commits: ArraySlice<ShippedCommit>, length: Int) {
        emit(
            .apply(
                ShippedStep(
                    generation: requestedGeneration, commits: Array(commits), names: receiver.names,
                    length: length)))
    }

    /// Drops a batch that will not be completed, and returns its credit.
    private mutating func abandonStaged() {
        grant(receiver.unpaidLength)
        dropStaged()
    }

    private mutating func dropStaged() {
        receiver.stagedCommit = nil
        (receiver.stagedLength, receiver.unpaidLength) = (0, 0)
    }

    /// Throws unless a generation is older than the current one; its frames are ignored.
    func checkPast(_ generation: UInt64) throws(WireError) {
        guard generation < requestedGeneration else {
            throw .outOfOrder("unexpected generation \(generation)")
        }
    }
}
