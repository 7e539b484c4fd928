import SheafStorage
import SheafTestSupport
import Testing

/// Logs of which files or ends of files are missing, and the damage that opening them reports.
@Suite struct TruncatedLogTests {
    /// The files of a store with four commits, each with its own segment of 304 bytes.
    private let files: [String: [UInt8]]
    private let checkpoint = FileName.name(ofCheckpoint: 4)

    init() throws {
        let volume = SimulatedVolume(seed: 18)
        var options = SmallStore.options(seed: 18)
        options.segmentLength = 1
        let engine = try StoreEngine(opening: volume, options: options)
        for number in 1...4 as ClosedRange<UInt8> {
            var batch = WriteBatch()
            try batch.put([1, number], [number, number])
            _ = try engine.append(batch)
            try engine.flush()
        }
        try engine.writeCheckpoint()
        try engine.close()
        var files = volume.snapshotFiles()
        files[FileName.syncedName] = nil
        self.files = files
    }

    /// Returns the newest commit after opening changed files, or the damage that is reported.
    private func opening(_ change: (inout [String: [UInt8]]) -> Void) -> String {
        var changed = files
        change(&changed)
        do throws(StorageError) {
            let engine = try StoreEngine(opening: SimulatedVolume(files: changed))
            return "commit \(engine.snapshot().commit)"
        } catch {
            guard case .corrupt(let damage) = error else { return "\(error)" }
            return "\(damage)"
        }
    }

    private func name(_ segment: UInt32) -> String { FileName.name(ofSegment: segment) }

    /// Returns the outcome of opening the files with the first bytes of a segment.
    private func opening(_ segment: UInt32, length: Int, checkpoint hasCheckpoint: Bool)
        -> String
    {
        opening { files in
            files[name(segment)] = files[name(segment)].map { Array($0.prefix(length)) }
            if !hasCheckpoint { files[checkpoint] = nil }
        }
    }

    @Test func `a segment that is missing is named with the next file`() {
        #expect(files.keys.count { $0.hasSuffix(".log") } == 4)
        #expect(files[name(4)]?.count == 304 && files[checkpoint] != nil)
        let unchanged = opening { _ in }
        #expect(unchanged == "commit 4")
        for (segment, next) in [(1, 2), (2, 3), (3, 4)] as [(UInt32, UInt32)] {
            let found = opening { $0[name(segment)] = nil }
            #expect(
                found
                    == "\(name(segment)):0: the segment is missing: the next file is \(name(next))")
        }
        let found = opening { files in
            for segment in [2, 3] as [UInt32] { files[name(segment)] = nil }
        }
        #expect(found == "\(name(2)):0: the segment is missing: the next file is \(name(4))")
    }

    @Test func `a sealed segment without its footer is refused`() {
        for length in [303, 216, 200] {
            #expect(
                opening(2, length: length, checkpoint: true)
                    == "\(name(2)):\(length): the footer of a sealed segment is missing or damaged")
        }
    }

    @Test func `a log that ends before a checkpoint is refused`() {
        let reason = "the log ends before the position of a checkpoint"
        let found = opening { $0[name(4)] = nil }
        #expect(found == "\(name(4)):216: \(reason)")
        for length in [208, 215] {
            #expect(
                opening(4, length: length, checkpoint: true)
                    == "\(name(4)):\(length): \(reason)")
        }
        #expect(opening(4, length: 216, checkpoint: true) == "commit 4")
        // Without the checkpoint, the name of the closed mark still has the last commit.
        #expect(opening(4, length: 216, checkpoint: false) == "commit 4")
        let error = opening(4, length: 208, checkpoint: false)
        #expect(error.hasPrefix("\(name(4)):") && error.hasSuffix(" names commit 4"), "\(error)")
    }
}
