import SheafStorage

extension SimulatedVolume {
    /// Cuts the power at the `call`th of the calls that change the disk, counted from one.
    ///
    /// That call may leave a part of its effect; it and all calls after it throw `.powerCut`.
    package func crashAtCall(_ call: Int) {
        inspect { $0.crashCall = call }
    }

    /// Whether the crash has happened.
    package var isPowerCut: Bool { inspect { $0.isPowerCut } }

    /// Adds a fault to those that wait for their call.
    package func inject(_ fault: SimulatedFault) {
        inspect { $0.faults.append(fault) }
    }

    /// Takes back all faults.
    package func removeFaults() {
        inspect { $0.faults.removeAll() }
    }

    /// How many bytes the files may have in all; none means that the disk never fills up.
    package var quota: Int? {
        get { inspect { $0.quota } }
        set { inspect { $0.quota = newValue } }
    }

    /// Whether `synchronize` on files returns without making anything durable.
    package var liesAboutData: Bool {
        get { inspect { $0.liesAboutData } }
        set { inspect { $0.liesAboutData = newValue } }
    }

    /// Whether `synchronizeNames` returns without making anything durable.
    package var liesAboutNames: Bool {
        get { inspect { $0.liesAboutNames } }
        set { inspect { $0.liesAboutNames = newValue } }
    }

    /// The process that is said to hold the lock.
    package var processIdentifier: Int32 {
        get { inspect { $0.processIdentifier } }
        set { inspect { $0.processIdentifier = newValue } }
    }

    /// How often the volume was called so far.
    package var counters: SimulatedCounters { inspect { $0.counters } }

    /// Whether a power cut can leave the disk in one state only.
    package var isSettled: Bool { inspect { $0.isSettled } }

    /// Remembers the last calls from now on.
    package func startTrace() {
        inspect { $0.trace = $0.trace ?? [] }
    }

    /// The last calls, one in each line.
    package var trace: String {
        inspect { $0.trace ?? [] }.map(\.description).joined(separator: "\n")
    }
}
