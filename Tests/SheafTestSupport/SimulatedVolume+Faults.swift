import SheafStorage

extension SimulatedVolume {
    /// Cuts the power at the `call`th call that changes the disk, counted from one.
    ///
    /// That call may have a partial effect; it and all later calls throw `.powerCut`.
    package func crashAtCall(_ call: Int) {
        inspect { $0.crashCall = call }
    }

    /// Whether the power cut has occurred.
    package var isPowerCut: Bool { inspect { $0.isPowerCut } }

    /// Adds a fault.
    package func inject(_ fault: SimulatedFault) {
        inspect { $0.faults.append(fault) }
    }

    /// Removes all faults.
    package func removeFaults() {
        inspect { $0.faults.removeAll() }
    }

    /// Calls `body` while no fault is injected.
    package func withoutFaults(_ body: () throws -> Void) rethrows {
        let faults = inspect { disk in
            defer { disk.faults = [] }
            return disk.faults
        }
        defer { inspect { $0.faults = faults } }
        try body()
    }

    /// Maximum total size of all files in bytes; nil means unlimited.
    package var quota: Int? {
        get { inspect { $0.quota } }
        set { inspect { $0.quota = newValue } }
    }

    /// Whether `synchronize` on files returns without making data durable.
    package var ignoresDataFlushes: Bool {
        get { inspect { $0.ignoresDataFlushes } }
        set { inspect { $0.ignoresDataFlushes = newValue } }
    }

    /// Whether `synchronizeNames` returns without making names durable.
    package var ignoresDirectoryFlushes: Bool {
        get { inspect { $0.ignoresDirectoryFlushes } }
        set { inspect { $0.ignoresDirectoryFlushes = newValue } }
    }

    /// The process reported as the holder of the lock.
    package var processIdentifier: Int32 {
        get { inspect { $0.processIdentifier } }
        set { inspect { $0.processIdentifier = newValue } }
    }

    /// Counts of the calls on the volume.
    package var counters: SimulatedCounters { inspect { $0.counters } }

    /// Whether a power cut can leave the disk in one state only.
    package var isSettled: Bool { inspect { $0.isSettled } }

    /// Starts recording calls.
    package func startTrace() {
        inspect { $0.trace = $0.trace ?? [] }
    }

    /// The last recorded calls, one per line.
    package var trace: String {
        inspect { $0.trace ?? [] }.map(\.description).joined(separator: "\n")
    }
}
