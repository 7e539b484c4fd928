import SheafBytes
package import SheafDocument

/// The sending half of a session.
extension SyncSession {
    struct Sender: Sendable {
        var generation: UInt64 = 0
        /// Received parts of an incomplete subscription.
        var subscribing: PartialSubscribe?
        /// The responder; nil until the host has built its version list.
        var responder: RangeResponder?
        /// A range request that waits for the version list.
        var question: RangeQuestion?
        /// Documents wanted so far by a continued `want`.
        var wanted: [DocumentAddress] = []
        /// Ranges wanted so far.
        var wantedRanges: [KeyRange] = []
        /// Whether the peer is reconciling; only wanted parts are sent meanwhile.
        var isComparing = false
        /// Whether the host is sending a wanted part.
        var isSendingPart = false
        var segments = ShippedSegmentWriter()
        /// The time at which the last part of a segment was sent.
        var segmentSentAt: UInt64 = 0
        /// Encoded commits of the next segment.
        var raw = CommitWriter()
        /// A commit that was begun and has no documents yet.
        var opening: ShippedCommit?
        /// Number of names numbered on the connection.
        var nameCount = 0
        var freshNames: [[UInt8]] = []
        /// Fragments of segments that wait for credit.
        var fragments: [[UInt8]] = []
        /// Number of bytes that may still be sent.
        var credit = SyncLimits.credit
        /// The credit beyond which `roomToSend` is emitted; nil if the host does not wait for it.
        var awaitedCredit: Int?
        /// Number of bytes of the latest segments, compressed and before compression.
        ///
        /// Both are halved in time, so that documents of another kind soon change their relation.
        private(set) var sentLength = 0
        private(set) var expandedLength = 0

        mutating func recordSent(_ length: Int, expanded: Int) {
            if expandedLength > SyncLimits.credit {
                (sentLength, expandedLength) = (sentLength / 2, expandedLength / 2)
            }
            sentLength += length
            expandedLength += expanded
        }
    }

    /// Length in bytes at which a segment is sent.
    package static var segmentTarget: Int { 128 << 10 }

    /// Whether commits can be sent; if not, `roomToSend` is emitted once they can.
    ///
    /// With `most`, there is none once the segments without returned credit expand to about that
    /// many bytes, estimated from the compression of the latest ones; 128 KiB are always allowed.
    package mutating func hasRoom(expandedInFlight most: Int? = nil) -> Bool {
        guard isOpen else { return false }
        var needed = SyncLimits.credit / 4
        if let most, sender.expandedLength > 0 {
            let share = Double(sender.sentLength) / Double(sender.expandedLength)
            // Below this, the receiver may not return any credit.
            let inFlight = max(Int(Double(most) * share), 2 * SyncLimits.creditStep)
            needed = max(needed, SyncLimits.credit - inFlight)
        }
        let hasRoom = sender.fragments.isEmpty && sender.credit > needed
        sender.awaitedCredit = hasRoom ? nil : needed
        return hasRoom
    }

    /// Whether commits wait for credit or for a full segment.
    package var hasUnsent: Bool { !sender.fragments.isEmpty || sender.raw.count > 0 }

    /// Makes the peer reconcile, for example because its cursor cannot be used.
    ///
    /// Does nothing during a reconciliation.
    package mutating func restart() {
        guard isOpen, !sender.isComparing else { return }
        sendSegment()
        sender.isComparing = true
        send(.restart, SingleNumber.bytes(sender.generation))
    }

    /// Answers range requests from `list` until the reconciliation ends.
    package mutating func sendAnswer(_ list: VersionList) throws(WireError) {
        guard isOpen, let question = sender.question else { return }
        sender.question = nil
        sender.responder = RangeResponder(list)
        try answer(question)
    }

    private mutating func answer(_ question: RangeQuestion) throws(WireError) {
        guard let answer = try sender.responder?.answer(question) else { return }
        send(.answer, Generational.bytes(sender.generation, answer.bytes))
    }

    /// Assigns the next number to a name; returns false when none is left.
    package mutating func teach(_ name: [UInt8]) -> Bool {
        guard sender.nameCount < SyncLimits.names else { return false }
        sender.nameCount += 1
        sender.freshNames.append(name)
        return true
    }

    /// Begins a commit, or a part of one; `sendSegment` sends it.
    ///
    /// With `isCut` the batch ends with this part, and the commit continues in the next batch.
    package mutating func beginCommit(
        _ commit: UInt64, stamp: Stamp?, isCut: Bool = false, remaining: UInt64? = nil
    ) {
        sender.opening = ShippedCommit(
            commit: commit, stamp: stamp, [], isCut: isCut, remaining: remaining)
    }

    private mutating func open() {
        guard let opening = sender.opening else { return }
        sender.opening = nil
        sender.raw.begin(opening)
    }

    /// Ends the last batch of a wanted part, after which the peer resumes reconciling.
    package mutating func endPart(_ commit: UInt64) {
        guard isOpen, sender.isSendingPart else { return }
        sender.opening = ShippedCommit(commit: commit, stamp: nil, [], isCut: true, endsPart: true)
        endCommit()
        sendSegment()
        sender.isSendingPart = false
    }

    /// Adds a document encoded in the numbered names of the connection.
    package mutating func add(
        _ collection: String, id: UnsafeRawBufferPointer, _ form: ShippedDocument.Form,
        _ bytes: UnsafeRawBufferPointer, unproven: [[UInt8]] = []
    ) {
        open()
        sender.raw.add(collection, id: id, form, bytes, unproven: unproven)
    }

    /// Ends a commit, or a part of one; an empty part is omitted.
    package mutating func endCommit(isContinued: Bool = false) {
        guard isOpen else { return }
        if isContinued, sender.opening != nil {
            sender.opening = nil
            return
        }
        open()
        sender.raw.end(isContinued: isContinued)
        if sender.raw.count >= Self.segmentTarget { sendSegment() }
    }

    /// Sends all ended commits as one segment.
    package mutating func sendSegment() {
        guard isOpen, sender.raw.count > 0 else { return }
        var header = ByteWriter()
        WireNameDictionary.write(sender.freshNames, into: &header)
        sender.freshNames = []
        let block = sender.segments.bytes(of: header.bytes + sender.raw.bytes)
        sender.recordSent(block.count, expanded: header.count + sender.raw.count)
        // After a full segment, another one probably follows; an idle connection keeps no memory.
        sender.raw.removeAll(keepingCapacity: sender.raw.count >= Self.segmentTarget)
        var rest = block[...]
        repeat {
            let piece = rest.prefix(SyncLimits.frameLength - 64)
            rest = rest.dropFirst(piece.count)
            var writer = ByteWriter(capacity: piece.count + 12)
            writer.writeVarint(sender.generation)
            writer.write(UInt8(rest.isEmpty ? 0 : 1))
            piece.withUnsafeBytes { writer.write($0) }
            sender.fragments.append(writer.bytes)
        } while !rest.isEmpty
        sendFragments()
    }

    /// Sends the fragments that the credit allows; a segment may exceed the maximum credit.
    private mutating func sendFragments() {
        var count = 0
        while count < sender.fragments.count, sender.fragments[count].count <= sender.credit {
            sender.credit -= sender.fragments[count].count
            send(.segment, sender.fragments[count])
            count += 1
        }
        if count > 0 { sender.segmentSentAt = now }
        sender.fragments.removeFirst(count)
    }

    /// Announces changed documents instead of sending them.
    package mutating func announce(_ entries: [Announce.Entry], of commit: UInt64) {
        guard isOpen else { return }
        sendSegment()
        let message = Announce(generation: sender.generation, commit: commit, entries)
        send(.announce, message.bytes)
    }

    mutating func handleAnnounceOnly(_ generation: UInt64) throws(WireError) {
        guard generation == sender.generation else {
            throw .outOfOrder("unexpected generation \(generation)")
        }
        // The frame may have crossed a `restart`.
        guard !sender.isComparing else { return }
        emit(.announceOnly)
    }

    mutating func handleSubscribe(_ part: SubscribePart) throws(WireError) {
        var partial = sender.subscribing ?? PartialSubscribe(generation: part.generation)
        guard part.generation == partial.generation, part.generation > sender.generation else {
            throw .outOfOrder("unexpected generation \(part.generation)")
        }
        partial.append(part)
        if let excess = partial.excess { return end(CloseMessage(.limit, excess)) }
        guard let end = part.end else {
            sender.subscribing = partial
            return
        }
        sender.subscribing = nil
        let request = Subscribe(
            generation: part.generation, partial.queries, at: end.commit, from: end.cursor,
            complete: end.complete)
        // The peer drops unfinished commits of an older generation.
        sender.raw.removeAll()
        sender.opening = nil
        sender.generation = request.generation
        (sender.responder, sender.question, sender.wanted) = (nil, nil, [])
        sender.wantedRanges = []
        sender.isSendingPart = false
        sender.isComparing = request.cursor == nil
        emit(.subscribed(request))
    }

    mutating func handleQuestion(_ frame: Frame) throws(WireError) {
        let (generation, question) = try frame.read { (body) throws(Malformed) in
            let message = try Generational(decoding: body)
            return (message.generation, try RangeQuestion(decoding: message.rest))
        }
        try checkComparing(generation, "a range request")
        guard !sender.isSendingPart else {
            throw .outOfOrder("`ask` before the end of the wanted part")
        }
        guard sender.question == nil else { throw .outOfOrder("a second range request") }
        guard sender.responder == nil else { return try answer(question) }
        sender.question = question
        emit(.listMatches)
    }

    mutating func handleWant(_ want: Want) throws(WireError) {
        try checkComparing(want.generation, "`want`")
        // The time to build the list may depend on documents that the peer may not read.
        guard sender.question == nil else {
            throw .outOfOrder("`want` before the answer to a range request")
        }
        guard !sender.isSendingPart else {
            throw .outOfOrder("`want` before the end of the wanted part")
        }
        switch want.documents {
        case .all:
            guard sender.wanted.isEmpty else { throw .outOfOrder("`want` of all after a list") }
            endComparing(.all)
        case .some(let addresses, let isContinued):
            try addWanted(addresses)
            guard !isContinued else { return }
            endComparing(.some(sender.wanted, isContinued: false))
        case .versions(let versions):
            guard let found = try sender.responder?.addresses(of: Set(versions)) else {
                throw .outOfOrder("`want` of versions before an `answer`")
            }
            var addresses: [DocumentAddress] = []
            for bytes in found {
                do throws(Malformed) {
                    addresses.append(try DocumentAddress(decoding: bytes))
                } catch {
                    throw .malformed(error)
                }
            }
            try addWanted(addresses)
        case .ranges(let ranges):
            guard sender.responder != nil else {
                throw .outOfOrder("`want` of ranges before an `answer`")
            }
            guard sender.wantedRanges.count + ranges.count <= SyncLimits.wantedRanges else {
                throw .outOfOrder("more than \(SyncLimits.wantedRanges) wanted ranges")
            }
            sender.wantedRanges += ranges
        case .part(let addresses):
            guard sender.responder != nil else {
                throw .outOfOrder("`want` of a part before an `answer`")
            }
            try addWanted(addresses)
            sender.isSendingPart = true
            let part = Want.Documents.part(sender.wanted)
            sender.wanted = []
            emit(.wanted(part))
        }
    }

    private mutating func addWanted(_ addresses: [DocumentAddress]) throws(WireError) {
        guard sender.wanted.count + addresses.count <= SyncLimits.wantedDocuments else {
            throw .outOfOrder("more than \(SyncLimits.wantedDocuments) wanted documents")
        }
        sender.wanted += addresses
    }

    private mutating func endComparing(_ documents: Want.Documents) {
        let ranges = sender.wantedRanges
        let count = ranges.reduce(0) { $0 + (sender.responder?.count(in: $1) ?? 0) }
        (sender.responder, sender.question, sender.wanted) = (nil, nil, [])
        (sender.isComparing, sender.wantedRanges) = (false, [])
        if !ranges.isEmpty { emit(.wantedRanges(ranges, count: count)) }
        emit(.wanted(documents))
    }

    private func checkComparing(_ generation: UInt64, _ what: String) throws(WireError) {
        guard generation == sender.generation, sender.isComparing else {
            throw .outOfOrder("\(what) of generation \(generation)")
        }
    }

    mutating func handleAcknowledgement(_ message: Acknowledge) throws(WireError) {
        guard message.generation <= sender.generation else {
            throw .outOfOrder("unexpected generation \(message.generation)")
        }
        guard message.generation == sender.generation else { return }
        emit(.acknowledged(commit: message.commit))
    }

    mutating func handleRefused(_ notice: RefusedNotice) throws(WireError) {
        guard notice.generation <= sender.generation else {
            throw .outOfOrder("unexpected generation \(notice.generation)")
        }
        guard notice.generation == sender.generation else { return }
        emit(.refused(notice))
    }

    mutating func handleCredit(_ length: UInt64) throws(WireError) {
        guard length <= UInt64(SyncLimits.credit), sender.credit + Int(length) <= SyncLimits.credit
        else { throw .outOfOrder("a credit of \(length) bytes") }
        sender.credit += Int(length)
        sendFragments()
        if let awaited = sender.awaitedCredit, sender.fragments.isEmpty, sender.credit > awaited {
            sender.awaitedCredit = nil
            emit(.roomToSend)
        }
    }
}
