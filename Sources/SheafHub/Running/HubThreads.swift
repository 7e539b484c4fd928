import Sheaf
import SheafAttachments
import SheafEngine
import SheafHubLog
import SheafReplication
import SheafStatements
import SheafSystem
import Synchronization

/// The threads of a hub: one samples the progress of the peer, one reads the configuration, two
/// maintain the log, and one moves files.
///
/// The others may block while the engine does, and the first one shows it.
final class HubThreads: Sendable {
    struct State: Sendable {
        var sample: HubSample
        /// The error of a transport that could not listen.
        var failure: (any Error)?
        var isStopping = false
    }

    /// Interval between samples, and before the hub listens.
    private static let sampleNanoseconds: UInt64 = 250_000_000
    private static let firstSampleNanoseconds: UInt64 = 20_000_000

    private let peer: Peer
    private let relay: HubLogRelay
    private let file: ConfigurationFile
    private let formats: ClosedRange<UInt8>
    private let clock: Clock
    /// Interval at which the configuration is read.
    private let configurationNanoseconds: UInt64
    private let state: Monitor<State>
    /// Reports changes of the reasons why the hub is not ready.
    private let report: @Sendable (HubStatus) -> Void
    private let threads: Monitor<[Thread]>
    private let maintenance = Mutex<HubMaintenanceThread?>(nil)
    private let files = Mutex<HubFilesThread?>(nil)
    private let settings: HubSettings

    init(
        _ peer: Peer, _ relay: HubLogRelay, _ file: ConfigurationFile,
        _ configuration: HubConfiguration, _ options: HubOptions,
        _ report: @escaping @Sendable (HubStatus) -> Void
    ) {
        (self.peer, self.relay, self.file) = (peer, relay, file)
        (formats, clock, self.report) = (options.formats, options.clock, report)
        var settings = options.maintenance
        settings.versions = options.formats
        self.settings = settings
        configurationNanoseconds = options.configurationMilliseconds * 1_000_000
        let now = clock.monotonicNanoseconds()
        state = Monitor(
            State(
                sample: HubSample(
                    respondedAt: now, configuration: configuration, configuredAt: now)))
        threads = Monitor([])
    }

    /// Starts the threads, which end with `stop`.
    func start() throws(HubError) {
        do throws(ThreadRefused) {
            let sampling = try Thread(name: "sheaf-hub") { [self] in sample() }
            threads.withLock { $0.append(sampling) }
            let reading = try Thread(name: "sheaf-hub-file") { [self] in readConfiguration() }
            threads.withLock { $0.append(reading) }
            let maintaining = try HubMaintenanceThread(
                peer, file, key: peer.key.bytes, settings
            ) { [self] in record($1, of: $0) }
            maintenance.withLock { $0 = maintaining }
            let moving = try HubFilesThread(peer, relay, settings) { [self] in record($0, $1) }
            files.withLock { $0 = moving }
        } catch {
            stop()
            throw HubError("the system has no thread for the hub (error \(error.code))")
        }
    }

    /// Ends the thread that maintains the log, and waits for it.
    ///
    /// Another hub finishes a replacement that this one has begun.
    func stopMaintenance() {
        let thread = maintenance.withLock { thread in
            defer { thread = nil }
            return thread
        }
        thread?.stop()
    }

    /// Blocks until this hub has replaced the log; returns false if another hub does so.
    func replaceLog(isForced: Bool) throws -> Bool {
        guard let thread = maintenance.withLock({ $0 }) else {
            throw HubError("the hub is not started, or stops")
        }
        do throws(SnapshotFailure) { return try thread.replace(isForced: isForced) } catch {
            throw HubError("the log cannot be replaced: \(error)")
        }
    }

    /// Ends the threads, and waits for them.
    func stop() {
        stopMaintenance()
        let moving = files.withLock { thread in
            defer { thread = nil }
            return thread
        }
        moving?.stop()
        state.withLock { $0.isStopping = true }
        state.broadcast()
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for thread in threads { thread.join() }
    }

    /// The status, from the last samples.
    var status: HubStatus {
        let sample = state.withLock { $0.sample }
        return HubStatus(sample, of: peer.key, formats: formats, at: clock.monotonicNanoseconds())
    }

    /// Makes the hub permanently not ready, since it stops.
    func beginDraining() {
        state.withLock { $0.sample.isDraining = true }
        state.broadcast()
        publishState()
    }

    /// Blocks until clients should use the hub; throws if it cannot listen, or stops.
    func waitUntilReady() throws {
        while true {
            let (failure, isStopping) = state.withLock { ($0.failure, $0.isStopping) }
            if let failure { throw failure }
            guard !isStopping else { throw HubError("the hub is being closed") }
            guard !status.isReady else { return }
            let deadline = Clock.system.monotonicNanoseconds() + Self.firstSampleNanoseconds
            state.wait(until: deadline) { !$0.isStopping }
        }
    }

    /// Throws if a transport could not listen.
    func checkIsListening() throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Takes a new configuration, which this hub has stored.
    func record(_ configuration: HubConfiguration) {
        let now = clock.monotonicNanoseconds()
        relay.read(beatsOf: configuration.log)
        state.withLock { state in
            (state.sample.configuration, state.sample.configuredAt) = (configuration, now)
        }
        state.broadcast()
    }

    /// The log of messages of the store.
    var storeLog: StoreLog? { peer.store.queries.log }

    /// Changes what the status shows of the maintenance.
    func updateMaintenance<Result: Sendable>(
        _ change: (inout MaintenanceCounts) -> Result
    ) -> Result {
        state.withLock { change(&$0.sample.maintenance) }
    }

    /// Changes what is known of files, and returns what was known before.
    func updateFiles(_ files: HubSample.Files) -> HubSample.Files {
        state.withLock { state in
            defer { state.sample.files = files }
            return state.sample.files
        }
    }

    /// Whether this hub may have files of documents up to a commit that the engine lacks.
    func mayHaveOnlyCopies(through commit: UInt64) -> Bool {
        state.withLock { $0.sample.files }.mayHaveOnlyCopies(through: commit)
    }

    /// Records the beats of the hubs of a log from now on.
    func readBeats(of log: HubLogID) { relay.read(beatsOf: log) }

    // MARK: - Sampling

    private func sample() {
        var reported: [String]?
        func withoutNumbers(_ reasons: [String]) -> [String] {
            reasons.map { $0.filter { !$0.isNumber } }
        }
        var deadline = Clock.system.monotonicNanoseconds()
        while true {
            takeSample()
            beginListening()
            let status = status
            // The number of seconds of a reason is not another reason.
            let reasons = withoutNumbers(status.reasons)
            if reasons != reported {
                report(status)
                reported = reasons
                publishState()
            }
            state.broadcast()
            let isListening = state.withLock { $0.sample.isListening }
            deadline =
                Clock.system.monotonicNanoseconds()
                + (isListening ? Self.sampleNanoseconds : Self.firstSampleNanoseconds)
            let isStopping = state.wait(until: deadline) { !$0.isStopping }
            guard !isStopping else { return }
        }
    }

    private func takeSample() {
        let deadline = Clock.system.monotonicNanoseconds() + Readiness.liveNanoseconds
        let progress = peer.answer(until: deadline) { $0.hubProgress }
        if let answer = progress, let answer { relay.forgetReplaced(answer) }
        let now = clock.monotonicNanoseconds()
        let (traffic, hubs) = (relay.traffic, relay.hubs)
        state.withLock { state in
            (state.sample.traffic, state.sample.hubs) = (traffic, hubs)
            // The outer optional is nil if the thread has not responded.
            guard let progress else { return }
            state.sample.respondedAt = now
            state.sample.progress = progress
            guard let progress else { return }
            state.sample.lag.record(
                commit: progress.commit, hubDurable: progress.hubDurable, at: now)
        }
    }

    /// Starts the transports as soon as the hub has all that was in the log.
    private func beginListening() {
        let isDue = state.withLock { state in
            !state.sample.isListening && !state.sample.isDraining && state.failure == nil
                && state.sample.progress?.hasCaughtUp == true
                && state.sample.configuration.format <= formats.upperBound
        }
        guard isDue else { return }
        do {
            try peer.sync.start()
            state.withLock { $0.sample.isListening = true }
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    /// Lets the beats of the hub report whether it is ready.
    private func publishState() {
        let (isReady, isDraining) = (status.isReady, status.isDraining)
        let now = Clock.system.monotonicNanoseconds()
        peer.request { $0?.setHubState(isReady: isReady, isDraining: isDraining, at: now) }
    }

    // MARK: - The configuration

    private func readConfiguration() {
        while true {
            readEngine()
            let deadline = Clock.system.monotonicNanoseconds() + configurationNanoseconds
            let isStopping = state.wait(until: deadline) { !$0.isStopping }
            guard !isStopping else { return }
        }
    }

    private func readEngine() {
        do {
            let found = try file.load()
            if let (configuration, _) = found { record(configuration) }
            let failure = found == nil ? HubError.lostConfiguration.message : nil
            state.withLock { $0.sample.configurationFailure = failure }
        } catch {
            let failure = "\(error)"
            state.withLock { $0.sample.configurationFailure = failure }
        }
    }
}
