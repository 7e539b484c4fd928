import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Tests of the reasons with which a session ends after a frame that its state does not allow.
struct SessionViolationTests {
    private static let log = Hello.DatabaseID(low: 1, high: 2)
    private static let question = RangeQuestion([]).bytes
    private static let first = DocumentAddress(collection: "c", id: [0x40, 1, 0])
    private static let part = Want(generation: 1, .part([first])).bytes

    /// The versions of nine documents.
    private static let list = VersionList(
        sorted: (1...9).map { number in
            let address = DocumentAddress(collection: "c", id: [0x40, UInt8(number), 0])
            return DocumentVersion(id: address.bytes, version: UInt64(number))
        })

    /// Returns the reason for which a session ends when it receives a frame; nil if it does not.
    private func reason(
        of type: FrameType, _ body: [UInt8],
        after prepare: (inout OpenSession) throws -> Void = { _ in }
    ) throws -> String? {
        var peer = OpenSession()
        try prepare(&peer)
        _ = peer.session.drainEffects()
        try #require(peer.session.isOpen)
        let effects = peer.receive(type, body)
        guard case .end(let message)? = effects.last else {
            #expect(peer.session.isOpen)
            return nil
        }
        #expect(message.code == .protocolBroken)
        #expect(OpenSession.frames(in: effects).last == Frame(.close, message.bytes))
        let after = peer.receive(.ping, [])
        #expect(after.isEmpty && !peer.session.isOpen && peer.session.deadline == nil)
        let start = "protocol violation: "
        return message.text.hasPrefix(start)
            ? String(message.text.dropFirst(start.count)) : message.text
    }

    // MARK: The side that sends documents

    /// Lets the peer subscribe and reconcile.
    private func beginComparing(_ peer: inout OpenSession) {
        _ = peer.receive(.subscribe, Subscribe(generation: 1, [], at: 0).parts[0].bytes)
    }

    /// Lets the peer ask for the first ranges, and answers it.
    private func answer(_ peer: inout OpenSession) throws {
        beginComparing(&peer)
        _ = peer.receive(.ask, [1] + Self.question)
        try peer.session.sendAnswer(Self.list)
    }

    private func want(_ documents: Want.Documents) -> [UInt8] {
        Want(generation: 1, documents).bytes
    }

    @Test func `a request outside a reconciliation ends the session`() throws {
        let cursor = Cursor(log: Self.log, commit: 5)
        let request = Subscribe(generation: 1, [], at: 0, from: cursor)
        func resume(_ peer: inout OpenSession) {
            _ = peer.receive(.subscribe, request.parts[0].bytes)
        }
        let ask = "a range request of generation"
        #expect(try reason(of: .ask, [0] + Self.question) == "\(ask) 0")
        #expect(try reason(of: .ask, [1] + Self.question, after: resume) == "\(ask) 1")
        #expect(try reason(of: .ask, [2] + Self.question, after: beginComparing) == "\(ask) 2")
        #expect(try reason(of: .ask, [1] + Self.question, after: beginComparing) == nil)
        #expect(try reason(of: .want, want(.all)) == "`want` of generation 1")
        #expect(try reason(of: .want, want(.all), after: resume) == "`want` of generation 1")
        #expect(try reason(of: .want, want(.all), after: beginComparing) == nil)
        let ended: (inout OpenSession) -> Void = { peer in
            beginComparing(&peer)
            _ = peer.receive(.want, want(.all))
        }
        #expect(try reason(of: .want, want(.all), after: ended) == "`want` of generation 1")
        #expect(try reason(of: .ask, [1] + Self.question, after: ended) == "\(ask) 1")
    }

    @Test func `requests of a reconciliation in a wrong order end the session`() throws {
        let asked: (inout OpenSession) -> Void = { peer in
            beginComparing(&peer)
            _ = peer.receive(.ask, [1] + Self.question)
        }
        #expect(
            try reason(of: .ask, [1] + Self.question, after: asked) == "a second range request")
        #expect(
            try reason(of: .want, want(.all), after: asked)
                == "`want` before the answer to a range request")
        let sending: (inout OpenSession) throws -> Void = { peer in
            try answer(&peer)
            _ = peer.receive(.want, Self.part)
        }
        #expect(
            try reason(of: .want, Self.part, after: sending)
                == "`want` before the end of the wanted part")
        #expect(
            try reason(of: .ask, [1] + RangeQuestion([0]).bytes, after: sending)
                == "`ask` before the end of the wanted part")
        let listed: (inout OpenSession) -> Void = { peer in
            beginComparing(&peer)
            _ = peer.receive(.want, want(.some([Self.first], isContinued: true)))
        }
        #expect(
            try reason(of: .want, want(.all), after: listed) == "`want` of all after a list")
        #expect(
            try reason(of: .want, want(.versions([1])), after: beginComparing)
                == "`want` of versions before an `answer`")
        #expect(
            try reason(of: .want, want(.ranges([.all])), after: beginComparing)
                == "`want` of ranges before an `answer`")
        #expect(
            try reason(of: .want, Self.part, after: beginComparing)
                == "`want` of a part before an `answer`")
        #expect(
            try reason(of: .want, want(.versions([1])), after: answer)
                == "versions without a sketch")
        // Nine documents have two ranges.
        #expect(
            try reason(of: .ask, [1] + RangeQuestion([1, 2]).bytes, after: answer)
                == "a request for range 2 of 2")
        #expect(try reason(of: .ask, [1] + RangeQuestion([0, 1]).bytes, after: answer) == nil)
    }

    @Test func `a first range request with indices is refused`() {
        var peer = OpenSession()
        beginComparing(&peer)
        _ = peer.receive(.ask, [1] + RangeQuestion([0]).bytes)
        #expect(throws: WireError.outOfOrder("a first range request with indices")) {
            try peer.session.sendAnswer(Self.list)
        }
    }

    @Test func `a subscription of a generation that is not newer ends the session`() throws {
        func subscribe(_ generation: UInt64) -> [UInt8] {
            Subscribe(generation: generation, [], at: 0).parts[0].bytes
        }
        let text = "unexpected generation"
        #expect(try reason(of: .subscribe, subscribe(0)) == "\(text) 0")
        #expect(try reason(of: .subscribe, subscribe(1), after: beginComparing) == "\(text) 1")
        #expect(try reason(of: .subscribe, subscribe(2), after: beginComparing) == nil)
        let query = SubscribedQuery(text: "q", arguments: [])
        let continued: (inout OpenSession) -> Void = { peer in
            _ = peer.receive(.subscribe, SubscribePart(generation: 1, [query], end: nil).bytes)
        }
        #expect(try reason(of: .subscribe, subscribe(1), after: continued) == nil)
        #expect(try reason(of: .subscribe, subscribe(2), after: continued) == "\(text) 2")
        #expect(
            try reason(of: .ping, [], after: continued) == "`ping` within a subscription")
    }

    @Test func `notices about a generation that the peer did not send end the session`() throws {
        func acknowledge(_ generation: UInt64) -> [UInt8] {
            Acknowledge(generation: generation, commit: 7).bytes
        }
        func refused(_ generation: UInt64) -> [UInt8] {
            RefusedNotice(generation: generation, commit: 7, .result, [Self.first]).bytes
        }
        let text = "unexpected generation"
        let notices: [(FrameType, (UInt64) -> [UInt8])] = [
            (.acknowledge, acknowledge), (.refused, refused),
        ]
        for (type, body) in notices {
            #expect(try reason(of: type, body(1)) == "\(text) 1")
            #expect(try reason(of: type, body(2), after: beginComparing) == "\(text) 2")
            for generation: UInt64 in [0, 1] {
                let found = try reason(of: type, body(generation), after: beginComparing)
                #expect(found == nil)
            }
        }
        #expect(try reason(of: .announceOnly, [1]) == "\(text) 1")
        #expect(try reason(of: .announceOnly, [0], after: beginComparing) == "\(text) 0")
        #expect(try reason(of: .announceOnly, [1], after: beginComparing) == nil)
    }

    @Test func `more credit than the segments took ends the session`() throws {
        #expect(try reason(of: .credit, [0]) == nil)
        #expect(try reason(of: .credit, [1]) == "a credit of 1 bytes")
        for length: UInt64 in [4_194_305, .max] {
            #expect(try reason(of: .credit, varint(length)) == "a credit of \(length) bytes")
        }
    }

    // MARK: Attachments and presence

    @Test func `messages about attachments that were not requested end the session`() throws {
        let id = [UInt8](repeating: 7, count: 32)
        let token = TokenAddress(attachment: id, document: Self.first)
        let proof = "a proof that was not requested"
        #expect(try reason(of: .proven, token.bytes) == proof)
        let asked: (inout OpenSession) -> Void = { $0.session.requestProof(of: token) }
        #expect(try reason(of: .proven, token.bytes, after: asked) == nil)
        let proven: (inout OpenSession) -> Void = { peer in
            peer.session.requestProof(of: token)
            _ = peer.receive(.proven, token.bytes)
        }
        #expect(try reason(of: .proven, token.bytes, after: proven) == proof)
        let owed: (inout OpenSession) -> Void = { _ = $0.receive(.askProof, token.bytes) }
        #expect(
            try reason(of: .askProof, token.bytes, after: owed)
                == "a repeated or excessive proof request")
        let parts = (0...4).map { AttachmentPart(id: id, .chunk, $0) }
        let fetched: (inout OpenSession) -> Void = { peer in
            for part in parts.prefix(4) { _ = peer.receive(.fetch, part.bytes) }
        }
        #expect(
            try reason(of: .fetch, parts[4].bytes, after: fetched)
                == "a request for more than 4 parts")
        let text = "an attachment part that was not requested"
        let fetching: (inout OpenSession) -> Void = { peer in
            for part in parts.prefix(2) { peer.session.fetch(part) }
        }
        #expect(try reason(of: .lacking, parts[0].bytes) == text)
        #expect(try reason(of: .lacking, parts[1].bytes, after: fetching) == text)
        #expect(try reason(of: .lacking, parts[0].bytes, after: fetching) == nil)
        let bytes = AttachmentBytes(parts[1], [1]).bytes
        #expect(try reason(of: .part, bytes, after: fetching) == text)
    }

    @Test func `presence messages in a wrong order end the session`() throws {
        let record = PeerRecord(
            key: [UInt8](repeating: 2, count: 32),
            version: PeerRecord.Version(opening: 1, salt: 2, count: 3), PeerRecord.Description(),
            neighbors: [])
        let message = PresenceMessage([record])
        let received: (inout OpenSession) -> Void = { _ = $0.receive(.presence, message.bytes) }
        #expect(
            try reason(of: .presence, message.bytes, after: received)
                == "presence before the last one was acknowledged")
        let text = "an unexpected or malformed presence acknowledgment"
        #expect(try reason(of: .presenceAcknowledged, []) == text)
        let sent: (inout OpenSession) -> Void = { $0.session.sendPresence(message) }
        #expect(try reason(of: .presenceAcknowledged, [0], after: sent) == text)
        #expect(try reason(of: .presenceAcknowledged, [], after: sent) == nil)
    }

    @Test func `frames that no state allows end the session`() throws {
        let hello = OpenSession.hello(2).bytes
        #expect(try reason(of: .hello, hello) == "a second `hello`")
        #expect(
            try reason(of: .historyDropped, [0])
                == "malformed frame body: bytes after the last field at offset 0")
        #expect(
            try reason(of: .acknowledge, [1])
                == "malformed frame body: the bytes end inside the value at offset 1")
        #expect(try reason(of: .ping, [1]) == nil)
        #expect(try reason(of: .pong, []) == nil)
    }
}
