import SheafAttachments
import SheafDocument
import SheafReplication
import SheafSync
import SheafTestSupport
import Testing

/// Tests of the proofs that peers possess attachments, and of the order of requests.
struct PossessionCheckTests {
    private func name(_ outcome: PossessionCheck.Outcome) -> String {
        switch outcome {
        case .hasMore: "has more"
        case .listed(let list): "listed \(list.count)"
        case .proven: "proven"
        case .failed: "failed"
        }
    }

    /// Returns a check of a file whose hashes were requested.
    private func listing(_ file: SampleFile) -> PossessionCheck {
        var check = PossessionCheck(file.id)
        _ = check.offer(length: file.bytes.count)
        _ = check.nextPart()
        return check
    }

    @Test func `a proof requests the hashes, and then each chunk once`() throws {
        let file = SampleFile(seed: 6, length: 530_000)
        var check = PossessionCheck(file.id)
        let early = check.nextPart()
        #expect(early == nil && !check.isOffered && !check.isUnderway)
        let unasked = check.receive(AttachmentPart(id: file.id.bytes, .hashes, 0), [1])
        #expect(name(unasked) == "has more")
        let offer = check.offer(length: file.bytes.count)
        #expect(name(offer) == "has more" && check.isOffered && !check.isUnderway)
        // Only the first offer counts.
        let other = check.offer(length: 0)
        #expect(name(other) == "has more")
        let hashes = check.nextPart()
        #expect(hashes == AttachmentPart(id: file.id.bytes, .hashes, 0) && check.isUnderway)
        let none = check.nextPart()
        #expect(none == nil)
        let listed = check.receive(
            AttachmentPart(id: file.id.bytes, .hashes, 0), file.list.hashes)
        #expect(name(listed) == "listed 3" && check.isUnderway)
        var parts: [AttachmentPart] = []
        while let part = check.nextPart() { parts.append(part) }
        #expect(parts == (0..<3).map { AttachmentPart(id: file.id.bytes, .chunk, $0) })
        // Chunks may arrive in any order, and more than once.
        var outcomes: [String] = []
        for number in [2, 0, 2, 1] {
            outcomes.append(name(check.receive(parts[number], file.chunk(number))))
        }
        #expect(outcomes == ["has more", "has more", "has more", "proven"])
    }

    @Test func `a part that is absent or wrong ends the proof`() {
        let file = SampleFile(seed: 5, length: 262_145)
        let hashes = AttachmentPart(id: file.id.bytes, .hashes, 0)
        var wrong = file.list.hashes
        wrong[40] ^= 1
        for bytes in [nil, [], wrong, wrong + [0], Array(file.list.hashes.dropLast())]
            as [[UInt8]?]
        {
            var check = listing(file)
            let outcome = check.receive(hashes, bytes)
            #expect(name(outcome) == "failed", "\(bytes?.count ?? -1) bytes")
        }
        for bytes in [nil, [], file.chunk(1), file.chunk(0) + [0]] as [[UInt8]?] {
            var check = listing(file)
            _ = check.receive(hashes, file.list.hashes)
            let outcome = check.receive(AttachmentPart(id: file.id.bytes, .chunk, 0), bytes)
            #expect(name(outcome) == "failed", "\(bytes?.count ?? -1) bytes")
        }
    }

    @Test func `parts that the proof has not requested are ignored`() {
        let file = SampleFile(seed: 5, length: 262_145)
        var check = listing(file)
        let chunk = AttachmentPart(id: file.id.bytes, .chunk, 1)
        let early = check.receive(chunk, file.chunk(1))
        #expect(name(early) == "has more")
        let later = check.receive(AttachmentPart(id: file.id.bytes, .hashes, 1), [1])
        #expect(name(later) == "has more")
        let hashes = AttachmentPart(id: file.id.bytes, .hashes, 0)
        let listed = check.receive(hashes, file.list.hashes)
        #expect(name(listed) == "listed 2")
        let again = check.receive(hashes, [1])
        #expect(name(again) == "has more")
        let first = check.receive(chunk, file.chunk(1))
        let last = check.receive(AttachmentPart(id: file.id.bytes, .chunk, 0), file.chunk(0))
        #expect(name(first) == "has more" && name(last) == "proven")
    }

    @Test func `an empty file is proven by its offer`() {
        var check = PossessionCheck(SampleFile(seed: 1, length: 0).id)
        let outcome = check.offer(length: 0)
        #expect(name(outcome) == "proven")
        var other = PossessionCheck(SampleFile(seed: 2, length: 1).id)
        let failed = other.offer(length: 0)
        #expect(name(failed) == "failed")
    }

    /// Lists the hashes of two gibibytes and one byte, which have two parts.
    @Test func `each part of the hashes is requested once, and all but the last are full`() throws {
        let hashes = [UInt8](repeating: 5, count: SyncLimits.partLength + 32)
        let length = 8_192 * ChunkList.chunkLength + 1
        let list = try #require(ChunkList(length: length, hashes: hashes))
        let (first, second) = (
            AttachmentPart(id: list.id.bytes, .hashes, 0),
            AttachmentPart(id: list.id.bytes, .hashes, 1)
        )
        for short in [false, true] {
            var check = PossessionCheck(list.id)
            _ = check.offer(length: length)
            var parts: [AttachmentPart] = []
            while let part = check.nextPart() { parts.append(part) }
            #expect(parts == [first, second])
            let full = Array(hashes.prefix(SyncLimits.partLength))
            let outcome = check.receive(first, short ? Array(full.dropLast(32)) : full)
            #expect(name(outcome) == (short ? "failed" : "has more"))
            guard !short else { continue }
            // A repetition of the first part is not the second one.
            let repeated = check.receive(first, full)
            #expect(name(repeated) == "has more")
            let last = check.receive(second, Array(hashes.suffix(32)))
            #expect(name(last) == "listed 8193")
        }
    }

    // MARK: Turns

    private func id(_ number: Int) throws -> AttachmentID {
        let start = [UInt8(number % 256), UInt8(number / 256)]
        return try #require(AttachmentID(bytes: start + [UInt8](repeating: 7, count: 30)))
    }

    @Test func `attachments that await proofs are examined once in a round, 4,096 at a time`()
        throws
    {
        #expect(AwaitedProofs.batch == 4_096)
        var awaited = AwaitedProofs()
        let ids = try (0..<4_098).map { try id($0) }
        for id in ids + ids.prefix(5) { awaited.insert(id) }
        let early = awaited.take()
        #expect(early.isEmpty && !awaited.hasMore)
        awaited.beginRound()
        #expect(awaited.hasMore)
        let first = awaited.take()
        #expect(first == Array(ids.prefix(4_096)) && awaited.hasMore)
        // Those that wait again follow the others, in the next round.
        awaited.insert(ids[1])
        let second = awaited.take()
        #expect(second == Array(ids.suffix(2)) && !awaited.hasMore)
        let nothing = awaited.take()
        #expect(nothing.isEmpty)
        awaited.beginRound()
        let third = awaited.take()
        #expect(third == [ids[1]] && !awaited.hasMore)
        awaited.insert(ids[2])
        awaited.beginRound()
        awaited.removeAll()
        let removed = awaited.take()
        #expect(removed.isEmpty && !awaited.hasMore)
    }

    @Test func `a request is forwarded with the most hops that another peer has left`() {
        let seed: UInt64 = 5
        var random = SeededRandom(seed: seed, "hops")
        for _ in 0..<200 {
            var hops: [UInt64: Int] = [:]
            var requests = AttachmentTransfer.RelayedRequests()
            for number: UInt64 in 1...4 where random.chance(2, in: 3) {
                hops[number] = 1 + random.below(8)
            }
            for (number, left) in hops.sorted(by: { $0.key < $1.key }) {
                requests.add(left, from: number)
            }
            for number: UInt64 in 1...5 {
                let others = hops.filter { $0.key != number }.map(\.value)
                #expect(requests.hops(but: number) == others.max() ?? 0, "seed \(seed), \(hops)")
            }
        }
    }
}
