import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// Want messages sent in several parts, and frames that violate their order.
struct WantedPartSessionTests {
    private static func id(_ number: UInt8) -> [UInt8] {
        DocumentAddress(collection: "c", id: [0x40, number, 0]).bytes
    }

    private static func list(_ numbers: ClosedRange<UInt8>) -> VersionList {
        VersionList(sorted: numbers.map { DocumentVersion(id: id($0), version: 1) })
    }

    private static let part = Want(
        generation: 1, .part([DocumentAddress(collection: "c", id: [0x40, 1, 0])])
    ).bytes
    private static let question = varint(1) + RangeQuestion([]).bytes

    private static func varint(_ number: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(number)
        return writer.bytes
    }

    private var peer = OpenSession()
    private var segments = ShippedSegmentWriter()

    /// Delivers a batch without documents from the peer.
    private mutating func step(isCut: Bool, endsPart: Bool) -> [SyncSession.Effect] {
        var commits = CommitWriter()
        commits.begin(7, stamp: nil, isCut: isCut, endsPart: endsPart)
        commits.end(isContinued: false)
        return peer.receive(
            .segment, Self.varint(1) + [0] + segments.bytes(of: [0] + commits.bytes))
    }

    // MARK: The side that sends documents

    /// Makes the peer reconcile against a list.
    private mutating func beginComparing() throws {
        let subscription = Subscribe(generation: 1, [], at: 0)
        _ = peer.receive(.subscribe, subscription.parts[0].bytes)
        _ = peer.receive(.ask, Self.question)
        try peer.session.sendAnswer(Self.list(1...9))
        _ = peer.session.drainEffects()
    }

    @Test mutating func `reconciliation continues after a part`() throws {
        try beginComparing()
        for _ in 0..<2 {
            let effects = peer.receive(.want, Self.part)
            #expect(effects.count == 1)
            peer.session.endPart(7)
            #expect(peer.session.drainEffects().count == 1)
        }
        let answer = peer.receive(.ask, Self.varint(1) + RangeQuestion([0]).bytes)
        #expect(answer.count == 1)
        let last = peer.receive(.want, Want(generation: 1, .some([], isContinued: false)).bytes)
        #expect(last == [.wanted(.some([], isContinued: false))])
        #expect(peer.session.isOpen)
    }

    @Test(arguments: [FrameType.want, .ask])
    mutating func `a frame before the end of the part ends the connection`(
        _ type: FrameType
    ) throws {
        try beginComparing()
        _ = peer.receive(.want, Self.part)
        _ = peer.receive(
            type, type == .want ? Self.part : Self.varint(1) + RangeQuestion([0]).bytes)
        #expect(!peer.session.isOpen)
    }

    @Test mutating func `a part outside reconciliation ends the connection`() throws {
        _ = peer.receive(.subscribe, Subscribe(generation: 1, [], at: 0).parts[0].bytes)
        _ = peer.receive(.want, Self.part)
        #expect(!peer.session.isOpen)
    }

    @Test(arguments: [4_096, 4_097])
    mutating func `more wanted ranges than the limit end the connection`(_ count: Int) throws {
        try beginComparing()
        let ranges = (0..<count).map { number in
            let bound = [UInt8(number >> 8), UInt8(number & 0xFF)]
            return KeyRange(from: bound, to: bound + [1])
        }
        for first in stride(from: 0, to: count, by: 127) {
            let part = Array(ranges[first..<min(first + 127, count)])
            _ = peer.receive(.want, Want(generation: 1, .ranges(part)).bytes)
        }
        #expect(peer.session.isOpen == (count == SyncLimits.wantedRanges))
    }

    // MARK: The side that wants documents

    /// Makes this side find ten differing documents, with at most four in one message.
    private mutating func findDifferences() throws {
        peer.session.subscribe(Subscribe(generation: 1, [], at: 0))
        _ = peer.session.drainEffects()
        peer.session.compare(with: Self.list(1...10), most: 4)
        _ = peer.session.drainEffects()
        var responder = RangeResponder(VersionList())
        let answer = try responder.answer(RangeQuestion([]))
        _ = peer.receive(.answer, Self.varint(1) + answer.bytes)
        let documents = try responder.answer(RangeQuestion([0]))
        let effects = peer.receive(.answer, Self.varint(1) + documents.bytes)
        #expect(effects.count == 1)
    }

    @Test mutating func `each end of a part is followed by the next part`() throws {
        try findDifferences()
        for _ in 0..<2 {
            let effects = step(isCut: true, endsPart: true)
            #expect(effects.count == 2)
        }
        let last = step(isCut: false, endsPart: false)
        #expect(last.count == 1 && peer.session.isOpen)
    }

    @Test mutating func `a batch before the last part must be marked as cut`() throws {
        try findDifferences()
        _ = step(isCut: false, endsPart: false)
        #expect(!peer.session.isOpen)
    }

    @Test mutating func `the end of a part that was not requested ends the connection`() throws {
        try findDifferences()
        for _ in 0..<3 { _ = step(isCut: true, endsPart: true) }
        #expect(!peer.session.isOpen)
    }
}
