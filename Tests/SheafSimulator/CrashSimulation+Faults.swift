import SheafStorage
import SheafTestSupport

extension CrashSimulation {
    /// Injects a fault at one of the next calls, or a disk quota.
    func injectFault() {
        if random.chance(1, in: 8) {
            let used = volume.snapshotFiles().values.reduce(0) { $0 + $1.count }
            volume.quota = used + random.below(4_000)
            return
        }
        let codes: [VolumeError.Code] = [
            .inputOutput, .noSpace, .interrupted, .tooManyFiles, .quotaExceeded,
        ]
        let effect: SimulatedFault.Effect =
            random.chance(1, in: 5) ? .short : .error(codes[random.below(codes.count)])
        volume.inject(
            SimulatedFault(
                effect, atCall: 1 + random.below(8), forEver: random.chance(1, in: 4)))
    }

    /// Removes all faults and the quota.
    func heal() {
        volume.removeFaults()
        volume.quota = nil
    }

    /// Continues after a failed call, or reopens the store after a process crash or power cut.
    func recover(from error: StorageError) throws {
        guard hasFaults else { throw error }
        switch error {
        case .io, .full, .poisoned: break
        default: throw error
        }
        if let engine {
            // A store that refuses writes still serves reads.
            try check(engine.snapshot())
            for snapshot in held { try check(snapshot) }
            if engine.failure == nil, !isClosed(engine), random.chance(1, in: 2) {
                if random.chance(1, in: 2) { heal() }
                return
            }
        }
        dropEngine()
        heal()
        if random.chance(1, in: 2) { killWriter() } else { cutPower() }
        try reopen()
    }

    private func isClosed(_ engine: StoreEngine) -> Bool {
        do throws(StorageError) {
            _ = try engine.append(WriteBatch())
            return false
        } catch {
            return error == .closed
        }
    }
}
