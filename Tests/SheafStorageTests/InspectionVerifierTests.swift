import SheafStorage
import SheafTestSupport
import Testing

@Suite struct InspectionVerifierTests {
    private let seed: UInt64 = 11

    @Test func `an intact store has no findings, and its counts are correct`() throws {
        let (files, content) = try SmallStore.small(seed: seed)
        let volume = SimulatedVolume(files: files)
        let result = try Verifier.verify(volume)
        #expect(result.findings == [])
        #expect(!result.isDamaged)
        let store = try #require(try LogReader(volume).store)
        #expect(result.store == store)
        #expect(result.lastCommit == content.lastCommit)
        #expect(result.keyCount == content.payloads.count)
        #expect(result.baseCount == 1)
        #expect(result.segmentCount >= 3)
        #expect(result.checkpointCount == 1 && result.usableCheckpointCount == 1)
    }

    @Test func `every changed byte is detected`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        var random = SeededRandom(seed: seed, "flips")
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            // Two checksums cover a checkpoint, so a sample of its bytes suffices.
            let step = name.hasSuffix(".checkpoint") ? 13 : 1
            for offset in stride(from: random.below(step), to: bytes.count, by: step) {
                var changed = files
                changed[name]?[offset] ^= 1 << UInt8(random.below(8))
                let result = try Verifier.verify(SimulatedVolume(files: changed))
                let isFound = result.findings.contains { $0.file == name }
                #expect(isFound, "seed \(seed): \(name):\(offset) \(result.findings)")
            }
        }
    }

    @Test func `every truncation of every file is detected`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            // The length of a checkpoint is checked first, so a sample of the lengths suffices.
            let step = name.hasSuffix(".checkpoint") ? 97 : 1
            for length in stride(from: 0, to: bytes.count, by: step) {
                var changed = files
                changed[name] = Array(bytes[..<length])
                let result = try Verifier.verify(SimulatedVolume(files: changed))
                let isFound = result.findings.contains { $0.file == name }
                #expect(isFound, "\(name) cut to \(length): \(result.findings)")
            }
        }
    }

    @Test func `records before a torn tail or a lost footer are counted`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        let whole = try Verifier.verify(SimulatedVolume(files: files)).recordCount
        let last = try #require(files.keys.filter { $0.hasSuffix(".log") }.max())
        let base = try #require(files.keys.first { $0.hasSuffix(".base") })
        for (name, cut) in [(last, 88), (last, 88 + 8), (base, 88)] {
            var changed = files
            changed[name]?.removeLast(cut)
            let result = try Verifier.verify(SimulatedVolume(files: changed))
            // A footer is not a record; the eight bytes before it belong to the last record.
            #expect(result.recordCount == whole - (cut > 88 ? 1 : 0), "\(name) \(cut)")
        }
    }

    @Test func `a missing file is detected, and only checkpoints and marks are optional`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        for name in files.keys.sorted() {
            var changed = files
            changed[name] = nil
            let result = try Verifier.verify(SimulatedVolume(files: changed))
            let isHarmless = name.hasSuffix(".checkpoint") || name.hasSuffix(".closed")
            #expect(result.isDamaged == !isHarmless, "\(name): \(result.findings)")
        }
    }

    @Test func `swapped segments are detected`() throws {
        let (files, _) = try SmallStore.small(seed: seed)
        let names = files.keys.filter { $0.hasSuffix(".log") || $0.hasSuffix(".base") }.sorted()
        for first in names.indices {
            for second in names.indices where second > first {
                var changed = files
                changed[names[first]] = files[names[second]]
                changed[names[second]] = files[names[first]]
                let result = try Verifier.verify(SimulatedVolume(files: changed))
                let found = Set(result.findings.filter { $0.severity == .damage }.map(\.file))
                #expect(found.isSuperset(of: [names[first], names[second]]))
            }
        }
    }
}
