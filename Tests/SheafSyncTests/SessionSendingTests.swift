import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the half of a session that sends documents: segments, credit, and answers.
struct SessionSendingTests {
    private static let cursor = Cursor(log: Hello.DatabaseID(low: 1, high: 2), commit: 5)
    private static let addresses = (1...9).map { number in
        DocumentAddress(collection: "c", id: [0x40, UInt8(number), 0])
    }
    private static let list = VersionList(
        sorted: addresses.enumerated().map { index, address in
            DocumentVersion(id: address.bytes, version: UInt64(index) << 40 | 7)
        })

    private var peer = OpenSession()
    private var segments = ShippedSegmentReader()
    private var names = NameTable()

    /// Lets the peer subscribe; without a cursor it reconciles.
    private mutating func subscribe(_ generation: UInt64 = 1, from cursor: Cursor? = Self.cursor) {
        let request = Subscribe(generation: generation, [], at: 0, from: cursor)
        let effects = peer.receive(.subscribe, request.parts[0].bytes)
        #expect(effects == [.subscribed(request)])
    }

    /// Adds a document of a number of bytes to the begun commit.
    private mutating func add(_ bytes: [UInt8]) {
        [UInt8(9)].withUnsafeBytes { id in
            bytes.withUnsafeBytes { peer.session.add("c", id: id, .state, $0) }
        }
    }

    private mutating func frames() -> [Frame] {
        OpenSession.frames(in: peer.session.drainEffects())
    }

    /// Reads the next segment, which is complete in a frame.
    private mutating func commits(in frame: Frame) throws -> [ShippedCommit] {
        try #require(frame.type == .segment)
        try #require(frame.body.starts(with: [1, 0]))
        let block = Array(frame.body.dropFirst(2))
        let raw = try block.withUnsafeBytes { try segments.raw(of: $0) }
        return try raw.withUnsafeBytes { try WireNameDictionary.commits(in: $0, &names) }
    }

    /// Reads the only segment that waits to be sent.
    private mutating func nextCommits() throws -> [ShippedCommit] {
        let sent = frames()
        try #require(sent.count == 1)
        return try commits(in: sent[0])
    }

    private func document(_ bytes: [UInt8]) -> ShippedDocument {
        ShippedDocument(collection: "c", id: [9], .state, bytes)
    }

    // MARK: Segments

    @Test mutating func `commits are sent together, and new names before them once`() throws {
        subscribe()
        let isTaught = ["one", "two"].map { peer.session.teach(Array($0.utf8)) }
        #expect(isTaught == [true, true])
        let stamp = Stamp(HybridTime(rawValue: 7 << 16), Site(rawValue: 3))
        peer.session.beginCommit(7, stamp: stamp)
        add([1, 2])
        peer.session.endCommit()
        #expect(peer.session.hasUnsent && !peer.session.hasEffects)
        peer.session.beginCommit(8, stamp: nil, isCut: true, remaining: 30)
        peer.session.endCommit()
        peer.session.sendSegment()
        #expect(!peer.session.hasUnsent)
        let found = try nextCommits()
        #expect(
            found == [
                ShippedCommit(commit: 7, stamp: stamp, [document([1, 2])]),
                ShippedCommit(commit: 8, stamp: nil, [], isCut: true, remaining: 30),
            ])
        #expect(names == NameTable(["one", "two"]))
        peer.session.sendSegment()
        #expect(!peer.session.hasEffects)
        peer.session.beginCommit(9, stamp: nil)
        peer.session.endCommit()
        peer.session.sendSegment()
        let next = try nextCommits()
        #expect(next == [ShippedCommit(commit: 9, stamp: nil, [])])
        #expect(names.count == 2)
    }

    @Test mutating func `an empty part of a commit is not sent`() throws {
        subscribe()
        peer.session.beginCommit(7, stamp: nil)
        peer.session.endCommit(isContinued: true)
        #expect(!peer.session.hasUnsent)
        peer.session.beginCommit(7, stamp: nil)
        add([1])
        peer.session.endCommit(isContinued: true)
        peer.session.beginCommit(7, stamp: nil)
        add([2])
        peer.session.endCommit()
        peer.session.sendSegment()
        let found = try nextCommits()
        #expect(
            found == [
                ShippedCommit(commit: 7, stamp: nil, [document([1])], isContinued: true),
                ShippedCommit(commit: 7, stamp: nil, [document([2])]),
            ])
    }

    /// A commit with one long document takes eleven bytes besides those of the document.
    @Test(arguments: [(131_060, 0), (131_061, 1)])
    mutating func `a segment is sent once its commits have 131,072 bytes`(
        _ length: Int, _ count: Int
    ) {
        subscribe()
        peer.session.beginCommit(7, stamp: nil)
        add([UInt8](repeating: 7, count: length))
        peer.session.endCommit()
        let sent = frames()
        #expect(sent.count == count)
        #expect(peer.session.hasUnsent == (count == 0))
    }

    @Test mutating func `a long segment is sent in frames of at most 1,048,514 bytes`() throws {
        subscribe()
        var random = SeededRandom(seed: 4, "long segments")
        peer.session.beginCommit(7, stamp: nil)
        add(random.bytes(1_100_000))
        peer.session.endCommit()
        let sent = frames()
        #expect(sent.map(\.type) == [.segment, .segment])
        let (first, last) = (sent[0].body, sent[1].body)
        #expect(first.count == 1_048_514 && last.count > 51_000 && last.count < 60_000)
        #expect(first.starts(with: [1, 1]) && last.starts(with: [1, 0]))
        var body: [UInt8] = [1, 0]
        for part in [first, last] { body += part.dropFirst(2) }
        let found = try commits(in: Frame(.segment, body))
        #expect(found.first?.documents.first?.bytes.count == 1_100_000)
    }

    @Test mutating func `a new subscription drops commits that were not sent`() throws {
        subscribe()
        peer.session.beginCommit(7, stamp: nil)
        add([1])
        peer.session.endCommit()
        peer.session.beginCommit(8, stamp: nil)
        subscribe(2)
        #expect(!peer.session.hasUnsent)
        peer.session.sendSegment()
        peer.session.announce([], of: 9)
        let sent = frames()
        #expect(sent == [Frame(.announce, Announce(generation: 2, commit: 9, []).bytes)])
    }

    @Test mutating func `waiting commits precede an announcement and a restart`() {
        subscribe()
        for number in 7...8 as ClosedRange<UInt64> {
            peer.session.beginCommit(number, stamp: nil)
            peer.session.endCommit()
            if number == 7 { peer.session.announce([], of: 7) } else { peer.session.restart() }
        }
        // The peer is comparing now.
        peer.session.restart()
        let sent = frames()
        #expect(sent.map(\.type) == [.segment, .announce, .segment, .restart])
        #expect(sent.last?.body == [1])
        let wanted = peer.receive(.want, Want(generation: 1, .all).bytes)
        #expect(wanted == [.wanted(.all)])
        peer.session.restart()
        let again = frames()
        #expect(again == [Frame(.restart, [1])])
    }

    // MARK: Credit

    @Test mutating func `there is room while the credit is more than a quarter`() {
        subscribe()
        var random = SeededRandom(seed: 5, "credit")
        let content = random.bytes(400_000)
        var used = 0
        while peer.session.hasRoom() {
            peer.session.beginCommit(7, stamp: nil)
            add(content)
            peer.session.endCommit()
            for frame in frames() { used += frame.body.count }
        }
        let missing = 1_048_576 - (4_194_304 - used)
        #expect((0..<400_000).contains(missing))
        let early = peer.receive(.credit, varint(UInt64(missing)))
        #expect(early.isEmpty)
        let hasRoom = peer.session.hasRoom()
        #expect(!hasRoom)
        let late = peer.receive(.credit, [1])
        #expect(late == [.roomToSend])
        let hasRoomLater = peer.session.hasRoom()
        #expect(hasRoomLater)
        // The host does not wait any more.
        let more = peer.receive(.credit, [1])
        #expect(more.isEmpty)
    }

    @Test mutating func `4,096 names can be taught`() {
        subscribe()
        var results: [Bool] = []
        for number in 0..<4_098 {
            results.append(peer.session.teach([UInt8(number >> 8), UInt8(number & 0xFF)]))
        }
        #expect(results.firstIndex(of: false) == 4_096 && results.last == false)
    }

    // MARK: Reconciliation

    /// Lets the peer ask for ranges, and answers from the list.
    private mutating func answer(_ question: RangeQuestion) throws -> [Frame] {
        let effects = peer.receive(.ask, [1] + question.bytes)
        if effects == [.listMatches] {
            try peer.session.sendAnswer(Self.list)
            return frames()
        }
        return OpenSession.frames(in: effects)
    }

    @Test mutating func `the answers are those of the list, which is requested once`() throws {
        subscribe(from: nil)
        var responder = RangeResponder(Self.list)
        for question in [RangeQuestion([]), RangeQuestion([0, 1], sketch: 3), RangeQuestion([1])] {
            let expected = try responder.answer(question)
            let sent = try answer(question)
            #expect(sent == [Frame(.answer, [1] + expected.bytes)])
        }
        try peer.session.sendAnswer(Self.list)
        #expect(!peer.session.hasEffects)
    }

    @Test mutating func `wanted documents are collected from all messages`() throws {
        subscribe(from: nil)
        _ = try answer(RangeQuestion([]))
        _ = try answer(RangeQuestion([0, 1], sketch: 3))
        let ranges = [KeyRange(from: [], to: Self.addresses[3].bytes), KeyRange(from: [9])]
        let messages: [Want.Documents] = [
            .some([Self.addresses[8]], isContinued: true), .versions([1 << 40 | 7, 9]),
            .ranges([ranges[0]]), .ranges([ranges[1]]),
        ]
        for documents in messages {
            let effects = peer.receive(.want, Want(generation: 1, documents).bytes)
            #expect(effects.isEmpty)
        }
        let last = Want(generation: 1, .some([Self.addresses[0]], isContinued: false))
        let effects = peer.receive(.want, last.bytes)
        let wanted = [8, 1, 0].map { Self.addresses[$0] }
        // Three documents precede the bound of the first range.
        #expect(
            effects == [
                .wantedRanges(ranges, count: 3), .wanted(.some(wanted, isContinued: false)),
            ])
    }

    @Test mutating func `a wanted part ends with an empty batch that is cut`() throws {
        subscribe(from: nil)
        peer.session.endPart(7)
        #expect(!peer.session.hasEffects)
        _ = try answer(RangeQuestion([]))
        let part = Want.Documents.part([Self.addresses[2], Self.addresses[4]])
        let effects = peer.receive(.want, Want(generation: 1, part).bytes)
        #expect(effects == [.wanted(part)])
        peer.session.endPart(7)
        let found = try nextCommits()
        #expect(found == [ShippedCommit(commit: 7, stamp: nil, [], isCut: true, endsPart: true)])
        peer.session.endPart(7)
        #expect(!peer.session.hasEffects)
        // The documents of the part are not wanted again.
        let last = Want(generation: 1, .some([], isContinued: false))
        let ended = peer.receive(.want, last.bytes)
        #expect(ended == [.wanted(.some([], isContinued: false))])
    }

    @Test mutating func `only notices about the current subscription reach the host`() {
        subscribe()
        subscribe(2)
        var effects: [SyncSession.Effect] = []
        let notices = (0...2 as ClosedRange<UInt64>).map { generation in
            RefusedNotice(generation: generation, commit: 4, .original, [Self.addresses[0]])
        }
        for notice in notices {
            let acknowledge = Acknowledge(generation: notice.generation, commit: 6)
            effects += peer.receive(.acknowledge, acknowledge.bytes)
            effects += peer.receive(.refused, notice.bytes)
        }
        effects += peer.receive(.announceOnly, [2])
        #expect(effects == [.acknowledged(commit: 6), .refused(notices[2]), .announceOnly])
        peer.session.restart()
        let crossed = peer.receive(.announceOnly, [2])
        #expect(OpenSession.frames(in: crossed) == [Frame(.restart, [2])] && crossed.count == 1)
    }
}
