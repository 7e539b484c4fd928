import SheafBytes
import SheafDocument
import SheafSync
import Testing

/// The limits of a session on what its peer may request, at their exact values.
struct SessionLimitTests {
    private var peer = OpenSession()

    private func id(_ number: Int) -> [UInt8] {
        [UInt8(number % 256), UInt8(number / 256)] + [UInt8](repeating: 7, count: 30)
    }

    /// The numbers of `format-spec/sync.md` and of the page about limits.
    @Test func `the limits are the documented ones`() {
        #expect(SyncLimits.segmentDocuments == 65_536)
        #expect(SyncLimits.names == 4_096)
        #expect(SyncLimits.queries == 4_096)
        #expect(SyncLimits.subscriptionLength == 4_194_304)
        #expect(SyncLimits.completeLength == 524_288)
        #expect(SyncLimits.queryLength == 65_536)
        #expect(SyncLimits.argumentsLength == 262_144)
        #expect(SyncLimits.refusedDocuments == 256)
        #expect(SyncLimits.refusedOfJob == 4_096)
        #expect(SyncLimits.stagedLength == 1_073_741_824)
        #expect(SyncLimits.unprovenTokens == 1_024)
        #expect(SyncLimits.askedProofs == 256)
        #expect(SyncLimits.possessionChecks == 64)
        #expect(SyncLimits.fetchWindow == 4)
        #expect(SyncLimits.soughtAttachments == 1_024)
        #expect(RangeResponder.sketchedCount == 1_048_576)
    }

    @Test mutating func `a peer may seek 1,024 attachments at a time`() {
        func seek(_ number: Int, hops: Int = 3) -> [UInt8] {
            Seek(id: id(number), hops: hops).bytes
        }
        for number in 0..<1_024 { _ = peer.receive(.seek, seek(number)) }
        #expect(peer.session.isOpen)
        // An attachment that is sought again does not count twice, and one that is not makes room.
        _ = peer.receive(.seek, seek(7))
        _ = peer.receive(.seek, seek(0, hops: 0))
        _ = peer.receive(.seek, seek(1_024))
        #expect(peer.session.isOpen)
        _ = peer.receive(.seek, seek(1_025))
        #expect(!peer.session.isOpen)
    }

    @Test mutating func `a peer may request four parts at a time`() {
        #expect(peer.session.fetchRoom == 4)
        for number in 0..<4 {
            peer.session.fetch(AttachmentPart(id: id(0), .chunk, number))
            _ = peer.receive(.fetch, AttachmentPart(id: id(0), .chunk, number).bytes)
        }
        #expect(peer.session.fetchRoom == 0)
        #expect(peer.session.isOpen)
        peer.session.serve(nil)
        _ = peer.receive(.fetch, AttachmentPart(id: id(0), .chunk, 4).bytes)
        #expect(peer.session.isOpen)
        _ = peer.receive(.fetch, AttachmentPart(id: id(0), .chunk, 5).bytes)
        #expect(!peer.session.isOpen)
    }

    @Test mutating func `a peer may request 256 proofs at a time`() {
        func token(_ number: Int) -> TokenAddress {
            TokenAddress(
                attachment: id(number), document: DocumentAddress(collection: "c", id: [1]))
        }
        for number in 0..<256 { _ = peer.receive(.askProof, token(number).bytes) }
        #expect(peer.session.isOpen)
        peer.session.confirm(token(0))
        _ = peer.receive(.askProof, token(256).bytes)
        #expect(peer.session.isOpen)
        _ = peer.receive(.askProof, token(257).bytes)
        #expect(!peer.session.isOpen)
    }

    @Test func `4,096 names are numbered on a connection`() throws {
        func segment(_ names: [String]) -> [UInt8] {
            var writer = ByteWriter()
            WireNameDictionary.write(names.map { Array($0.utf8) }, into: &writer)
            return writer.bytes
        }
        var names = NameTable()
        for range in [0..<1, 1..<4_096] {
            let commits = try segment(range.map { "name \($0)" }).withUnsafeBytes {
                try WireNameDictionary.commits(in: $0, &names)
            }
            #expect(commits.isEmpty)
        }
        #expect(names.count == 4_096)
        var excess = names
        #expect(throws: Malformed.self) {
            try segment(["another"]).withUnsafeBytes {
                _ = try WireNameDictionary.commits(in: $0, &excess)
            }
        }
        var empty = NameTable()
        #expect(throws: Malformed.self) {
            try segment((0..<4_097).map { "name \($0)" }).withUnsafeBytes {
                _ = try WireNameDictionary.commits(in: $0, &empty)
            }
        }
    }

    @Test(arguments: [(65_536, true), (65_537, false)])
    mutating func `a presence message has at most 65,536 bytes`(_ length: Int, _ isOpen: Bool) {
        func message(last: Int) -> PresenceMessage {
            PresenceMessage(
                (0..<16).map { number in
                    let text = String(repeating: "a", count: number < 15 ? 4_050 : last)
                    return PeerRecord(
                        key: Array(repeating: UInt8(number), count: 32),
                        version: PeerRecord.Version(opening: 1, salt: 2, count: 3),
                        PeerRecord.Description(metadata: Array("{\"a\":\"\(text)\"}".utf8)),
                        neighbors: [])
                })
        }
        let other = message(last: 3_000).bytes.count
        let message = message(last: 3_000 + length - other)
        #expect(message.bytes.count == length)
        let effects = peer.receive(.presence, message.bytes)
        #expect(peer.session.isOpen == isOpen)
        #expect((effects == [.presence(message)]) == isOpen)
    }

    @Test func `the documents to be sent complete have at most 524,288 bytes of addresses`() {
        func addresses(excess: Int) -> [DocumentAddress] {
            (0..<128).map { number in
                // Each address counts its bytes, and eight more.
                let length = 4_096 - 8 - 1 + (number == 0 ? excess : 0)
                return DocumentAddress(collection: "c", id: [UInt8](repeating: 7, count: length))
            }
        }
        #expect(Subscribe.fits(complete: addresses(excess: 0)))
        #expect(!Subscribe.fits(complete: addresses(excess: 1)))
    }

    @Test(arguments: [(0, true), (1, false)])
    mutating func `the queries of a subscription have at most 4,194,304 bytes`(
        _ excess: Int, _ isOpen: Bool
    ) {
        // The last query has one byte and the excess.
        var queries = (0..<64).map { number in
            let length = 65_536 - (number == 0 ? 1 : 0)
            return SubscribedQuery(
                text: String(repeating: "q", count: length - 2) + String(10 + number),
                arguments: [])
        }
        queries.append(
            SubscribedQuery(text: String(repeating: "q", count: 1 + excess), arguments: []))
        for part in Subscribe(generation: 1, queries, at: 0).parts {
            _ = peer.receive(.subscribe, part.bytes)
        }
        #expect(peer.session.isOpen == isOpen)
    }

    @Test(arguments: [(4_096, true), (4_097, false)])
    mutating func `a subscription has at most 4,096 queries`(_ count: Int, _ isOpen: Bool) {
        let queries = (0..<count).map { SubscribedQuery(text: "q\($0)", arguments: []) }
        let middle = count / 2
        for (part, end) in [(queries[..<middle], false), (queries[middle...], true)] {
            let message = SubscribePart(
                generation: 1, Array(part),
                end: end ? SubscribePart.End(commit: 0, cursor: nil, complete: []) : nil)
            _ = peer.receive(.subscribe, message.bytes)
        }
        #expect(peer.session.isOpen == isOpen)
    }

    @Test(arguments: [(1_000, true), (1_001, true), (999, false)])
    func `a batch in several segments is received up to its maximum length`(
        _ limit: Int, _ isOpen: Bool
    ) {
        var peer = OpenSession(stagedLength: limit)
        let cursor = Cursor(log: Hello.DatabaseID(low: 1, high: 2), commit: 0)
        peer.session.subscribe(Subscribe(generation: 1, [], at: 0, from: cursor))
        _ = peer.session.drainEffects()
        var segments = ShippedSegmentWriter()
        // Each of the two batches has 1,000 bytes in two segments.
        for commit in 1...2 as ClosedRange<UInt64> {
            for isContinued in [true, false] {
                func segment(_ count: Int) -> [UInt8] {
                    var commits = CommitWriter()
                    commits.begin(commit, stamp: nil)
                    [1 as UInt8].withUnsafeBytes { id in
                        [UInt8](repeating: 7, count: count).withUnsafeBytes {
                            commits.add("c", id: id, .state, $0)
                        }
                    }
                    commits.end(isContinued: isContinued)
                    // No names are numbered.
                    return [0] + commits.bytes
                }
                let raw = segment(400 + 500 - segment(400).count)
                #expect(raw.count == 500)
                _ = peer.receive(.segment, [1, 0] + segments.bytes(of: raw))
            }
        }
        #expect(peer.session.isOpen == isOpen)
    }
}
