import Sheaf
import SheafAttachments
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Fetching of files chunk by chunk.
@Suite struct AttachmentFetchTests {
    @Test func `a file whose chunks arrive in any order is complete and durable`() throws {
        let seed: UInt64 = 5
        var random = SeededRandom(seed: seed, "order")
        for sample in SampleFile.all {
            let volume = SimulatedVolume()
            let store = AttachmentStore(volume, isMade: false)
            guard case .unknown = try store.beginFetch(sample.id) else {
                Issue.record("The chunk hashes were already known.")
                return
            }
            #expect(volume.snapshotFiles().isEmpty)
            guard let incoming = try store.begin(sample) else {
                #expect(sample.bytes.isEmpty)
                #expect(try store.bytes(of: sample.id) == [])
                continue
            }
            #expect(incoming.missingChunks() == [0..<sample.list.count])
            var order = Array(0..<sample.list.count)
            order.shuffle(using: &random)
            for (count, chunk) in order.enumerated() {
                #expect(try !store.has(sample.id))
                #expect(try incoming.read(chunk) == nil)
                let outcome = try incoming.put(sample.chunk(chunk), at: chunk)
                #expect(outcome == (count == order.count - 1 ? .complete : .accepted))
                #expect(try incoming.read(chunk) == sample.chunk(chunk))
                let received = order.prefix(count + 1).reduce(0) {
                    $0 + sample.list.range(of: $1).count
                }
                #expect(incoming.receivedLength == received)
            }
            #expect(incoming.missingChunks() == [])
            #expect(try incoming.put(sample.chunk(0), at: 0) == .complete)
            #expect(try store.bytes(of: sample.id) == sample.bytes)
            let kept = volume.powerCut(seed: 4 &* seed)
            #expect(try AttachmentStore(kept).bytes(of: sample.id) == sample.bytes)
            #expect(volume.snapshotFiles().keys.sorted() == ["\(sample.id).whole"])
        }
    }

    @Test func `chunk hashes that do not match the id are refused and leave no file`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let sample = SampleFile.all[5]
        let hashes = sample.list.hashes
        let swapped = Array(hashes[32..<64] + hashes[0..<32] + hashes[64...])
        let wrong: [(Int, [UInt8])] = [
            (530_000, Array(hashes.dropLast())), (530_000, []), (530_000, swapped),
            (530_000, hashes + [UInt8](repeating: 0, count: 32)), (529_999, hashes),
            (530_001, hashes), (-1, hashes), (.max, hashes), (0, []),
            (530_000, SampleFile(seed: 8, length: 530_000).list.hashes),
        ]
        for (length, hashes) in wrong {
            #expect(throws: AttachmentError.wrongList(sample.id)) {
                try store.beginFetch(sample.id, length: length, hashes: hashes)
            }
        }
        #expect(volume.snapshotFiles().isEmpty)
        #expect(try store.ids == [])
    }

    @Test func `chunks that do not match their hash are refused and change nothing`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let sample = SampleFile.all[5]
        let incoming = try #require(try store.begin(sample))
        let files = volume.snapshotFiles()
        var flipped = sample.chunk(1)
        flipped[100_000] ^= 1
        let wrong: [([UInt8], Int)] = [
            (flipped, 1), (sample.chunk(0), 1), (sample.chunk(1), 0), ([], 0),
            (Array(sample.chunk(2).dropLast()), 2), (sample.chunk(2) + [0], 2),
            (sample.chunk(0), 3), (sample.chunk(0), -1), (sample.chunk(0), .max),
            (sample.list.hashes, 2),
        ]
        for (bytes, chunk) in wrong {
            #expect(throws: AttachmentError.wrongChunk(sample.id, chunk: chunk)) {
                try incoming.put(bytes, at: chunk)
            }
        }
        #expect(volume.snapshotFiles() == files)
        #expect(incoming.missingChunks() == [0..<3] && incoming.receivedLength == 0)
    }

    @Test func `a fetch continues after the process dies`() throws {
        let sample = SampleFile.all[5]
        var volume = SimulatedVolume()
        for chunk in [1, 2, 0] {
            let store = AttachmentStore(volume)
            let incoming =
                if let begun = try store.incoming(sample.id) { begun } else {
                    try #require(try store.begin(sample))
                }
            #expect(!incoming.missingChunks().contains { $0 == chunk..<chunk })
            try incoming.put(sample.chunk(chunk), at: chunk)
            if chunk != 0 { try incoming.flush() }
            volume = volume.processDeath()
        }
        #expect(try AttachmentStore(volume).bytes(of: sample.id) == sample.bytes)
    }

    @Test func `each chunk that is reported after a power cut is intact`() throws {
        let sample = SampleFile.all[5]
        for seed in UInt64(0)..<12 {
            let volume = SimulatedVolume(seed: seed)
            let store = AttachmentStore(volume)
            let incoming = try #require(try store.begin(sample))
            try incoming.put(sample.chunk(2), at: 2)
            try incoming.flush()
            try incoming.put(sample.chunk(0), at: 0)
            try incoming.flush()
            try incoming.put(sample.chunk(1).dropLast() + [sample.chunk(1).last ?? 0], at: 1)
            _ = incoming
            let kept = AttachmentStore(volume.powerCut(seed: seed))
            if try kept.has(sample.id) {
                #expect(try kept.bytes(of: sample.id) == sample.bytes)
                continue
            }
            let later = try #require(try kept.incoming(sample.id))
            for chunk in 0..<3 where later.contains(chunk) {
                #expect(try later.read(chunk) == sample.chunk(chunk), "seed \(seed)")
            }
        }
    }

    @Test func `several callers may fetch one file while another adds it`() throws {
        let volume = SimulatedVolume()
        let store = AttachmentStore(volume)
        let sample = SampleFile.all[5]
        let first = try #require(try store.begin(sample))
        let second = try #require(try store.begin(sample))
        #expect(first === second)
        try first.put(sample.chunk(0), at: 0)
        #expect(try second.put(sample.chunk(0), at: 0) == .duplicate)
        _ = try store.add(sample.bytes)
        #expect(volume.snapshotFiles().keys.sorted() == ["\(sample.id).whole"])
        #expect(try first.put(sample.chunk(1), at: 1) == .complete)
        guard case .complete = try store.beginFetch(sample.id) else {
            Issue.record("The file was not complete.")
            return
        }
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }

    @Test func `stored chunks are returned for complete and partial files`() throws {
        let store = AttachmentStore(SimulatedVolume())
        let sample = SampleFile.all[5]
        #expect(try store.chunk(0, of: sample.id) == nil)
        #expect(try store.chunkList(of: sample.id) == nil)
        let incoming = try #require(try store.begin(sample))
        try incoming.put(sample.chunk(1), at: 1)
        #expect(try store.chunkList(of: sample.id) == sample.list)
        #expect(try store.chunk(1, of: sample.id) == sample.chunk(1))
        for chunk in [-1, 0, 2, 3] { #expect(try store.chunk(chunk, of: sample.id) == nil) }
        for chunk in [0, 2] { try incoming.put(sample.chunk(chunk), at: chunk) }
        #expect(try store.chunkList(of: sample.id) == sample.list)
        for chunk in 0..<3 {
            #expect(try store.chunk(chunk, of: sample.id) == sample.chunk(chunk))
        }
        for chunk in [-1, 3, .max] { #expect(try store.chunk(chunk, of: sample.id) == nil) }
    }

    @Test func `a partial file with a damaged header is discarded`() throws {
        let sample = SampleFile.all[4]
        let volume = SimulatedVolume()
        _ = try AttachmentStore(volume).begin(sample)
        volume.corrupt("\(sample.id).part", .flipBit(at: 99, bit: 3))
        let store = AttachmentStore(volume)
        #expect(try store.incoming(sample.id) == nil)
        #expect(volume.snapshotFiles().isEmpty)
        let incoming = try #require(try store.begin(sample))
        for chunk in 0..<2 { try incoming.put(sample.chunk(chunk), at: chunk) }
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }

    @Test func `several threads add chunks of one file concurrently`() throws {
        let sample = SampleFile(seed: 12, length: 5 * 262_144 + 1)
        let store = AttachmentStore(SimulatedVolume()) { $0.chunksPerSync = 2 }
        let incoming = try #require(try store.begin(sample))
        let threads = try (0..<3).map { number in
            try Thread(name: "put \(number)") {
                for step in 0..<6 {
                    let chunk = (step + 2 * number) % 6
                    _ = try? incoming.put(sample.chunk(chunk), at: chunk)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(try store.bytes(of: sample.id) == sample.bytes)
    }
}
