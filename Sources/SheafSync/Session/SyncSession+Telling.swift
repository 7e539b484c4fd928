import SheafBytes
package import SheafDocument

/// What the other side wants of this one.
extension SyncSession {
    struct Telling: Sendable {
        var generation: UInt64 = 0
        /// The parts received of a subscription that is continued.
        var subscribing: PartialSubscribe?
        var hasCursor = false
        /// Who answers, once the host has made a list.
        var teller: RangeTeller?
        /// The question that waits for that list.
        var question: RangeQuestion?
        /// What is wanted, as far as it was named.
        var wanted: [DocumentAddress] = []
        /// Whether the other side still compares: only parts of what it wants are sent then.
        var isComparing = false
        /// Whether the host sends such a part.
        var isSendingPart = false
        var segments = SegmentWriter()
        /// Commits that wait to be sent as a segment.
        var raw = CommitWriter()
        /// A commit that was begun, and has no documents yet.
        var opening: (commit: UInt64, stamp: Stamp?, isCut: Bool, endsPart: Bool)?
        /// How many names have numbers on the connection, and those that the other side was not told of.
        var nameCount = 0
        var freshNames: [[UInt8]] = []
        /// Pieces of segments that wait for credit.
        var pieces: [[UInt8]] = []
        /// How many bytes may still be sent.
        var credit = SyncLimits.credit
        /// Whether the host waits for room.
        var isWaiting = false
    }

    /// A segment is sent when it is so long.
    package static var segmentTarget: Int { 128 << 10 }

    /// The generation of what the other side wants; 0 where it has not said.
    package var toldGeneration: UInt64 { telling.generation }

    /// Whether commits can be sent now; where not, `roomToSend` comes when they can.
    package mutating func hasRoom() -> Bool {
        guard isOpen else { return false }
        let hasRoom = telling.pieces.isEmpty && telling.credit > SyncLimits.credit / 4
        telling.isWaiting = !hasRoom
        return hasRoom
    }

    /// Whether documents wait for credit, or to be sent with others.
    package var hasUnsent: Bool { !telling.pieces.isEmpty || telling.raw.count > 0 }

    /// The cursor of the other side says nothing: the two have to compare what they have.
    ///
    /// Also later, where there is more to be seen than before; not while they compare already.
    package mutating func restart() {
        guard isOpen, !telling.isComparing else { return }
        sendSegment()
        telling.isComparing = true
        send(.restart, LoneNumber.bytes(telling.generation))
    }

    /// Answers from this list until the other side says what it wants.
    package mutating func tell(_ list: VersionList) throws(WireError) {
        guard isOpen, let question = telling.question else { return }
        telling.question = nil
        telling.teller = RangeTeller(list)
        try answer(question)
    }

    private mutating func answer(_ question: RangeQuestion) throws(WireError) {
        guard let answer = try telling.teller?.answer(question) else { return }
        send(.answer, Generational.bytes(telling.generation, answer.bytes))
    }

    /// Gives a name the next number on the connection; false where there is none left.
    package mutating func teach(_ name: [UInt8]) -> Bool {
        guard telling.nameCount < SyncLimits.names else { return false }
        telling.nameCount += 1
        telling.freshNames.append(name)
        return true
    }

    /// Begins a commit, or a part of one; `sendSegment` sends it.
    ///
    /// A step that is cut ends with it, and what belongs to the commit goes on in the next one.
    package mutating func beginCommit(_ commit: UInt64, stamp: Stamp?, isCut: Bool = false) {
        telling.opening = (commit, stamp, isCut, false)
    }

    private mutating func open() {
        guard let (commit, stamp, isCut, endsPart) = telling.opening else { return }
        telling.opening = nil
        telling.raw.begin(commit, stamp: stamp, isCut: isCut, endsPart: endsPart)
    }

    /// Ends the step that has the last documents of a wanted part, so that the other side continues to compare.
    package mutating func endPart(_ commit: UInt64) {
        guard isOpen, telling.isSendingPart else { return }
        telling.opening = (commit, nil, true, true)
        endCommit()
        sendSegment()
        telling.isSendingPart = false
    }

    /// Adds a document, in the numbers of the connection.
    package mutating func add(
        _ collection: String, id: UnsafeRawBufferPointer, _ form: ShippedDocument.Form,
        _ bytes: UnsafeRawBufferPointer, unproven: [[UInt8]] = []
    ) {
        open()
        telling.raw.add(collection, id: id, form, bytes, unproven: unproven)
    }

    /// Ends a commit, or a part of one; a part without documents is left out.
    package mutating func endCommit(isContinued: Bool = false) {
        guard isOpen else { return }
        if isContinued, telling.opening != nil {
            telling.opening = nil
            return
        }
        open()
        telling.raw.end(isContinued: isContinued)
        if telling.raw.count >= Self.segmentTarget { sendSegment() }
    }

    /// Sends the commits that have ended.
    package mutating func sendSegment() {
        guard isOpen, telling.raw.count > 0 else { return }
        var head = ByteWriter()
        SpokenNames.write(telling.freshNames, into: &head)
        telling.freshNames = []
        let block = telling.segments.bytes(of: head.bytes + telling.raw.bytes)
        telling.raw.removeAll()
        var rest = block[...]
        repeat {
            let piece = rest.prefix(SyncLimits.frameLength - 64)
            rest = rest.dropFirst(piece.count)
            var writer = ByteWriter(capacity: piece.count + 12)
            writer.writeVarint(telling.generation)
            writer.write(UInt8(rest.isEmpty ? 0 : 1))
            piece.withUnsafeBytes { writer.write($0) }
            telling.pieces.append(writer.bytes)
        } while !rest.isEmpty
        sendPieces()
    }

    /// Sends the pieces for which there is credit: a long document has more bytes than there ever is.
    private mutating func sendPieces() {
        var count = 0
        while count < telling.pieces.count, telling.pieces[count].count <= telling.credit {
            telling.credit -= telling.pieces[count].count
            send(.segment, telling.pieces[count])
            count += 1
        }
        telling.pieces.removeFirst(count)
    }

    /// Says what would be sent.
    package mutating func announce(_ entries: [Announce.Entry], of commit: UInt64) {
        guard isOpen else { return }
        sendSegment()
        let message = Announce(generation: telling.generation, commit: commit, entries)
        send(.announce, message.bytes)
    }

    // MARK: What comes

    mutating func takeAnnounceOnly(_ generation: UInt64) throws(WireError) {
        guard generation == telling.generation else {
            throw .outOfOrder("the generation \(generation)")
        }
        // Both sides may have spoken at the same time.
        guard !telling.isComparing else { return }
        emit(.announceOnly)
    }

    mutating func takeSubscribe(_ part: SubscribePart) throws(WireError) {
        var partial = telling.subscribing ?? PartialSubscribe(generation: part.generation)
        guard part.generation == partial.generation, part.generation > telling.generation else {
            throw .outOfOrder("the generation \(part.generation)")
        }
        partial.append(part)
        if let excess = partial.excess { return end(Farewell(.limit, excess)) }
        guard let end = part.end else {
            telling.subscribing = partial
            return
        }
        telling.subscribing = nil
        let request = Subscribe(
            generation: part.generation, partial.queries, at: end.commit, from: end.cursor,
            whole: end.whole)
        // What was begun for an older generation is not ended: the other side drops it.
        telling.raw.removeAll()
        telling.opening = nil
        telling.generation = request.generation
        (telling.teller, telling.question, telling.wanted) = (nil, nil, [])
        telling.isSendingPart = false
        telling.hasCursor = request.cursor != nil
        telling.isComparing = request.cursor == nil
        emit(.subscribed(request))
    }

    mutating func takeQuestion(_ frame: Frame) throws(WireError) {
        let (generation, question) = try frame.read { (body) throws(Malformed) in
            let message = try Generational(decoding: body)
            return (message.generation, try RangeQuestion(decoding: message.rest))
        }
        try checkComparing(generation, "a question")
        guard !telling.isSendingPart else {
            throw .outOfOrder("an `ask` before the end of the wanted part")
        }
        guard telling.question == nil else { throw .outOfOrder("a second question") }
        guard telling.teller == nil else { return try answer(question) }
        telling.question = question
        emit(.listMatches)
    }

    mutating func takeWant(_ want: Want) throws(WireError) {
        try checkComparing(want.generation, "what is wanted")
        // How long a list takes may depend on documents that the other side may not read.
        guard telling.question == nil else {
            throw .outOfOrder("what is wanted before the answer to a question")
        }
        guard !telling.isSendingPart else {
            throw .outOfOrder("a `want` before the end of the wanted part")
        }
        switch want.documents {
        case .all:
            guard telling.wanted.isEmpty else { throw .outOfOrder("all behind some") }
            endComparing(.all)
        case .some(let addresses, let isContinued):
            try addWanted(addresses)
            guard !isContinued else { return }
            endComparing(.some(telling.wanted, isContinued: false))
        case .part(let addresses):
            guard telling.teller != nil else {
                throw .outOfOrder("a `want` of a part before an `answer`")
            }
            try addWanted(addresses)
            telling.isSendingPart = true
            let part = Want.Documents.part(telling.wanted)
            telling.wanted = []
            emit(.wanted(part))
        }
    }

    private mutating func addWanted(_ addresses: [DocumentAddress]) throws(WireError) {
        guard telling.wanted.count + addresses.count <= SyncLimits.wantedDocuments else {
            throw .outOfOrder("more than \(SyncLimits.wantedDocuments) wanted documents")
        }
        telling.wanted += addresses
    }

    private mutating func endComparing(_ documents: Want.Documents) {
        (telling.teller, telling.question, telling.wanted) = (nil, nil, [])
        telling.isComparing = false
        emit(.wanted(documents))
    }

    private func checkComparing(_ generation: UInt64, _ what: String) throws(WireError) {
        guard generation == telling.generation, telling.isComparing else {
            throw .outOfOrder("\(what) of the generation \(generation)")
        }
    }

    mutating func takeAcknowledgement(_ message: Acknowledge) throws(WireError) {
        guard message.generation <= telling.generation else {
            throw .outOfOrder("the generation \(message.generation)")
        }
        guard message.generation == telling.generation else { return }
        emit(.acknowledged(commit: message.commit))
    }

    mutating func takeRefused(_ notice: RefusedNotice) throws(WireError) {
        guard notice.generation <= telling.generation else {
            throw .outOfOrder("the generation \(notice.generation)")
        }
        guard notice.generation == telling.generation else { return }
        emit(.refused(notice))
    }

    mutating func takeCredit(_ length: UInt64) throws(WireError) {
        guard length <= UInt64(SyncLimits.credit), telling.credit + Int(length) <= SyncLimits.credit
        else { throw .outOfOrder("credit for \(length) bytes") }
        telling.credit += Int(length)
        sendPieces()
        if telling.isWaiting, telling.pieces.isEmpty, telling.credit > SyncLimits.credit / 4 {
            telling.isWaiting = false
            emit(.roomToSend)
        }
    }
}
