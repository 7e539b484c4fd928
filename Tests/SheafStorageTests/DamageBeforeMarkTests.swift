import SheafSimulator
import SheafStorage
import SheafTestSupport
import Testing

/// Damage of bytes that the mark shows to have been durable, where no later bytes prove it.
@Suite struct DamageBeforeMarkTests {
    /// A store whose process was killed after several commits.
    private struct Killed {
        let volume: SimulatedVolume
        let commits: CommitID
        /// The end of the log when the checkpoint was written; opening reads no earlier bytes.
        let checkpoint: LogPosition
    }

    private func killed(seed: UInt64) throws -> Killed {
        let volume = SimulatedVolume(seed: seed)
        let engine = try StoreEngine(opening: volume, options: SmallStore.options(seed: seed))
        var content = SmallStore.Content()
        var checkpoint = LogPosition.none
        for number in 1...Int(seed % 9 + 1) {
            try SmallStore.commit(number, to: engine, &content)
            // The name of an older commit is a weaker proof than the mark.
            guard number == Int(seed % 4) else { continue }
            try engine.writeCheckpoint()
            checkpoint = engine.snapshot().end
        }
        try engine.flush()
        return Killed(
            volume: volume.processDeath(seed: seed), commits: content.lastCommit,
            checkpoint: checkpoint)
    }

    /// Damages the segment of `end` before `end`: a shorter file, zeros to its end, or one bit.
    private func damage(_ store: Killed, before end: LogPosition, _ random: SeededSource) throws {
        let volume = store.volume
        let file = try volume.open(FileName.name(ofSegment: end.segment), .write)
        defer { file.close() }
        let bytes = try volume.contents(of: file.name)
        let first = store.checkpoint.segment == end.segment ? store.checkpoint.offset : 0
        let start = first + Int(random.next() % UInt64(end.offset - first))
        switch random.next() % 3 {
        case 0: try file.truncate(to: start)
        case 1 where bytes[start..<end.offset].contains { $0 != 0 }:
            try file.truncate(to: start)
            try file.truncate(to: bytes.count)
        default: try file.writeFully([bytes[start] ^ UInt8(1 << (random.next() % 8))], at: start)
        }
    }

    private func expectDamage(_ body: () throws(StorageError) -> Void) {
        do throws(StorageError) {
            try body()
            Issue.record("An older state was shown.")
        } catch {
            guard case .corrupt = error else {
                Issue.record("The error is \(error).")
                return
            }
        }
    }

    private func mark(of volume: SimulatedVolume) throws -> SyncedMark {
        let bytes = try volume.contents(of: FileName.syncedName)
        return try #require(bytes.withUnsafeBytes { SyncedMark(decoding: $0) })
    }

    @Test(arguments: 0..<120 as Range<UInt64>)
    func `damage before the mark is an error of readers, writers and verification`(
        seed: UInt64
    ) throws {
        let store = try killed(seed: seed)
        let (volume, commits) = (store.volume, store.commits)
        let mark = try mark(of: volume)
        // A checkpoint of the last commit leaves nothing to damage.
        guard store.checkpoint < mark.position else { return }
        #expect(mark.commit == commits)
        let follower = try LogFollower(try LogReader(volume))
        #expect(follower.snapshot.commit == commits)
        try damage(store, before: mark.position, SeededSource(seed: seed))
        expectDamage { () throws(StorageError) in
            _ = try LogFollower(try LogReader(volume))
        }
        let found = try Verifier.verify(volume)
        #expect(found.isDamaged)
        // A note would promise that the next opening removes the damage.
        for damage in found.findings where damage.severity == .damage {
            #expect(
                !found.findings.contains {
                    $0.severity == .note && ($0.file, $0.offset) == (damage.file, damage.offset)
                })
        }
        // A note must not promise a repair of damage that the next opening refuses.
        #expect(
            !found.findings.contains { finding in
                ["opening cuts", "opening seals", "opening drops"].contains {
                    finding.reason.contains($0)
                }
            }, "\(found.findings)")
        expectDamage { () throws(StorageError) in _ = try StoreEngine(opening: volume) }
        let report = try? Salvager.salvage(
            volume, into: SimulatedVolume(seed: 1), store: mark.owner.store)
        if let report {
            #expect(report.lastCommit + report.lostCommitCount >= commits)
        }
    }

    @Test func `a store whose log files are all missing is damaged for every command`() throws {
        let volume = try killed(seed: 3).volume
        for name in try volume.names() {
            switch FileName(name) {
            case .segment, .base, .checkpoint: try volume.remove(name)
            default: break
            }
        }
        expectDamage { () throws(StorageError) in
            _ = try LogFollower(try LogReader(volume))
        }
        expectDamage { () throws(StorageError) in _ = try StoreEngine(opening: volume) }
        #expect(try Verifier.verify(volume).isDamaged)
        expectDamage { () throws(StorageError) in
            _ = try Salvager.salvage(volume, into: SimulatedVolume(seed: 1))
        }
    }

    @Test func `a reader keeps its state when the next commit is damaged`() throws {
        let volume = SimulatedVolume(seed: 1)
        let engine = try StoreEngine(opening: volume, options: SmallStore.options(seed: 1))
        var content = SmallStore.Content()
        try SmallStore.commit(1, to: engine, &content)
        try engine.flush()
        let follower = try LogFollower(try LogReader(volume))
        let end = follower.snapshot.end
        try SmallStore.commit(2, to: engine, &content)
        try engine.flush()
        let file = try volume.open(FileName.name(ofSegment: end.segment), .write)
        let byte = try volume.contents(of: file.name)[end.offset + 100]
        try file.writeFully([byte ^ 1], at: end.offset + 100)
        for _ in 0..<2 {
            #expect {
                try follower.advance()
            } throws: {
                guard case StorageError.corrupt(let damage) = $0 else { return false }
                return damage.reason.contains("SYNCED names commit 2") && damage.file == file.name
            }
            #expect(follower.snapshot.commit == 1)
        }
    }

    @Test func `missing segments before the mark are an error`() throws {
        let volume = try killed(seed: 8).volume
        for name in try volume.names() where name.hasSuffix(".log") || name.hasSuffix(".base") {
            try volume.remove(name)
        }
        expectDamage { () throws(StorageError) in
            _ = try LogReader(volume).snapshot()
        }
        expectDamage { () throws(StorageError) in _ = try StoreEngine(opening: volume) }
    }

    @Test func `the mark of another store, directory or run of the system proves nothing`() throws {
        let store = try killed(seed: 6)
        let (volume, commits) = (store.volume, store.commits)
        let mark = try mark(of: volume)
        let foreign: [SyncedMark.Owner] = [
            .init(
                store: StoreID(low: 1, high: 2), directory: mark.owner.directory,
                system: mark.owner.system),
            .init(store: mark.owner.store, directory: 77, system: mark.owner.system),
            .init(store: mark.owner.store, directory: mark.owner.directory, system: 99),
        ]
        for owner in foreign {
            let copy = volume.processDeath()
            let other = SyncedMark(owner: owner, position: mark.position, commit: commits + 1)
            try copy.open(FileName.syncedName, .write).writeFully(other.encoded(), at: 0)
            #expect(try LogReader(copy).snapshot().commit == commits)
            let engine = try StoreEngine(opening: copy)
            #expect(engine.snapshot().commit == commits)
            try engine.close()
        }
    }
}
