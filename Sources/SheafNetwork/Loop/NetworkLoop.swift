import SheafStorage
import SheafSystem
import SheafTransport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The event loop of a transport: all its connections, on one thread with nonblocking sockets.
package final class NetworkLoop {
    /// The state shared by the loop and its callers.
    final class Share: Sendable {
        let mailbox: Mailbox
        let connectionStates = ConnectionStates()
        let isStopped = Atomic<Bool>(false)
        /// Where other machines can connect to this peer.
        let addresses = Mutex<[PeerAddress]>([])

        let descriptors: DescriptorQueue

        init() throws(NetworkError) {
            mailbox = try Mailbox()
            descriptors = try DescriptorQueue()
        }
    }

    /// Listening sockets, which close when the loop that took them releases them.
    final class Listeners: Sendable {
        private let sockets: Mutex<[Socket]>

        init(_ sockets: [Socket]) {
            self.sockets = Mutex(sockets)
        }

        /// Removes and returns the sockets.
        func take() -> [Socket] {
            sockets.withLock { sockets in
                defer { sockets = [] }
                return sockets
            }
        }
    }

    /// The values passed to the thread that runs the loop.
    struct Setup: Sendable {
        let credentials: Credentials
        let limits: NetworkLimits
        let clock: Clock
        let random: @Sendable () -> UInt64
        let tls: TLSContext
        let listeners: Listeners
        let peers: [NetworkAddress]
        let discovery: PeerDiscovery
        let proposals: [PeerKey: [PeerAddress]]
    }

    let setup: Setup
    let share: Share
    private weak var host: (any PeerTransportHost)?
    private let busyPoll: BusyPoll
    private(set) var channels: [UInt64: Channel] = [:]
    /// The incoming channels that have not been authenticated.
    var unknown: [UInt64: Channel] = [:]
    /// The channels whose socket events, times or unfinished work may have changed.
    let changes = ChannelChanges()
    /// The channels with work left for which the socket does not become ready.
    private var unfinished: [UInt64: Channel] = [:]
    /// The times at which stages time out, and those at which grants expire.
    var stageEnds = TimeQueue()
    var grantEnds = TimeQueue()
    /// The channel of each connected peer, by its key.
    var connected: [PeerKey: UInt64] = [:]
    var dialers: [UInt64: Dialer] = [:] { didSet { areStatesOutdated = true } }
    /// Nil while no peers are looked for on the local network.
    var discovery: LocalDiscovery?
    var discoveredPeers = DiscoveredPeers()
    /// The addresses that presence has reported; used only while discovery is on.
    var proposals: [PeerKey: [PeerAddress]]
    var learnedPeers: LearnedPeers
    /// When to choose learned peers to connect to.
    var nextLearning: UInt64 = .max
    /// The last reported reason for which discovery has no socket on an interface.
    var discoveryFailure: String?
    private var lastIdentifier: UInt64 = 0
    private var isStopping = false
    private var reports: ReportGate
    /// The limit of reports about found peers that cannot be reached.
    var failureReports: ReportGate
    /// Whether the published connection states are out of date.
    var areStatesOutdated = true
    /// The connection states to be published, by channel; nil for an ended connection.
    var newStates: [UInt64: ConnectionStates.Entry?] = [:]
    var acceptPause = AcceptPause()
    /// The listening sockets; none after `stopAccepting`.
    var listeners: [Socket]
    let poller: Poller
    /// The read buffer of all channels, for one TLS record.
    let incoming = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TLSSession.recordLength, alignment: 16)

    /// Maximum time of a wait for which the system refused to watch a descriptor.
    private static let retryMilliseconds: UInt64 = 100

    /// The token of the mailbox; each channel has its identifier, which is greater.
    private static let mailboxToken: UInt64 = 0
    /// The token of the first listener; those of the others follow.
    private static let listenerToken: UInt64 = 1 << 62

    init(_ setup: Setup, _ share: Share, host: (any PeerTransportHost)?) {
        poller = Poller(share.descriptors)
        self.setup = setup
        self.share = share
        self.host = host
        busyPoll = BusyPoll(microseconds: host?.busyPollMicroseconds ?? 0)
        reports = ReportGate(perSecond: setup.limits.reportsPerSecond)
        failureReports = reports
        proposals = setup.proposals
        learnedPeers = LearnedPeers(setup.limits)
        listeners = setup.listeners.take()
    }

    deinit {
        incoming.deallocate()
    }

    var limits: NetworkLimits { setup.limits }
    var now: UInt64 { setup.clock.monotonicNanoseconds() }
    var wallNow: UInt64 { setup.clock.wallMilliseconds() }

    /// Runs until the transport is stopped.
    func run() {
        blockPipeSignal()
        for listener in listeners {
            guard let address = listener.ownAddress else { continue }
            post { $0.report(.listening(address: address.description)) }
        }
        for peer in setup.peers { add(peer) }
        setDiscovery(setup.discovery)
        while !isStopping {
            for letter in share.mailbox.drain() { read(letter) }
            guard !isStopping else { break }
            advanceDiscovery()
            handleClockChange()
            if areStatesOutdated { publishConnectionStates() }
            wait()
        }
        endAll()
    }

    /// Returns an unused identifier for a channel or a dialer.
    func newIdentifier() -> UInt64 {
        lastIdentifier += 1
        return lastIdentifier
    }

    /// Calls `body` with the host; returns nil if the host is gone or the transport was stopped.
    func post<Answer>(_ body: (any PeerTransportHost) -> Answer) -> Answer? {
        guard let host, !share.isStopped.load(ordering: .acquiring) else { return nil }
        return body(host)
    }

    /// Reports a refused connection, within the limit of reports.
    func reportRefusal(_ address: String, _ error: NetworkError) {
        guard let omitted = reports.pass(atNanoseconds: now) else { return }
        let reason = error.description + (omitted > 0 ? " (and \(omitted) more refused)" : "")
        post { $0.report(.refused(address: address, reason: reason)) }
    }

    private func read(_ letter: Mailbox.Message) {
        switch letter {
        case .flush(let identifier):
            guard let channel = channels[identifier] else { return }
            // The queue may have been closed.
            changes.add(channel)
            flush(channel)
        case .read(let identifier):
            guard let channel = channels[identifier] else { return }
            // The session may hold bytes for which the socket does not become readable.
            channel.isUnfinished = true
        case .add(let address): add(address)
        case .remove(let address): remove(address)
        case .resolved(let dialer, let result): resolved(dialer, result)
        case .discover(let discovery): setDiscovery(discovery)
        case .propose(let peers): propose(peers)
        case .clockAdvanced: break
        case .stopAccepting: stopAccepting()
        case .stop: isStopping = true
        }
    }

    // MARK: Channels

    /// Adds a channel.
    func add(_ channel: Channel) {
        channels[channel.identifier] = channel
        if channel.isUnknown { unknown[channel.identifier] = channel }
        changes.add(channel)
    }

    /// Removes a channel; returns false if it was removed before.
    func remove(_ channel: Channel) -> Bool {
        guard channels.removeValue(forKey: channel.identifier) != nil else { return false }
        unknown[channel.identifier] = nil
        unfinished[channel.identifier] = nil
        poller.remove(channel.socket.number)
        return true
    }

    /// Prepares the wait for the channels that have changed.
    private func prepareChanged() {
        for channel in changes.drain() where channels[channel.identifier] === channel {
            do throws(NetworkError) {
                try poller.set(
                    channel.socket.number, token: channel.identifier,
                    reading: channel.wantsReading, writing: channel.wantsToWrite)
            } catch {
                end(channel, error)
                continue
            }
            unfinished[channel.identifier] = channel.isUnfinished ? channel : nil
            if channel.queuedStageEnd != channel.deadlineNanoseconds {
                channel.queuedStageEnd = channel.deadlineNanoseconds
                if let time = channel.queuedStageEnd {
                    stageEnds.insert(time, of: channel.identifier)
                }
            }
            if channel.queuedGrantEnd != channel.endMilliseconds {
                channel.queuedGrantEnd = channel.endMilliseconds
                if let time = channel.queuedGrantEnd {
                    grantEnds.insert(time, of: channel.identifier)
                }
            }
        }
    }

    /// Prepares the wait for everything but channels.
    private func prepareOthers() throws(NetworkError) {
        try poller.set(
            share.mailbox.readEnd, token: Self.mailboxToken, reading: true, writing: false)
        for (index, listener) in listeners.enumerated() {
            try poller.set(
                listener.number, token: Self.listenerToken + UInt64(index),
                reading: acceptPause.end == nil, writing: false)
        }
        try discovery?.prepare(poller)
    }

    private func wait() {
        prepareChanged()
        var longestWait = LoopWait.longestMilliseconds
        // Without a descriptor, the loop asks the mailbox often.
        do throws(NetworkError) { try prepareOthers() } catch {
            longestWait = Self.retryMilliseconds
        }
        // A channel that the system refused to watch has ended, which may have opened another one.
        let mayWait = unfinished.isEmpty && changes.isEmpty && !areStatesOutdated
        let timeout = mayWait ? millisecondsToNextDeadline(atMost: longestWait) : 0
        if timeout == 0 || share.mailbox.beginWaiting() {
            poller.wait(milliseconds: Int(timeout), polling: busyPoll)
        } else {
            poller.wait(milliseconds: 0, polling: .off)
        }
        serveReady()
    }

    private func serveReady() {
        var rest = unfinished
        var ready: [Socket] = []
        for event in poller.events {
            switch event.token {
            case Self.mailboxToken: share.mailbox.answerKnocks()
            case Self.listenerToken...:
                ready.append(listeners[Int(event.token - Self.listenerToken)])
            default:
                rest[event.token] = nil
                guard let channel = channels[event.token] else { continue }
                serve(channel, writable: event.isWritable, isClosed: event.isClosed)
            }
        }
        for channel in rest.values where channels[channel.identifier] === channel {
            serve(channel, writable: false, isClosed: false)
        }
        discovery?.read(poller, into: incoming, now: now)
        // Existing connections are served before new ones are accepted.
        for listener in ready { accept(listener) }
    }

    private func endAll() {
        share.mailbox.close()
        discovery?.stop()
        for channel in Array(channels.values) {
            flush(channel)
            end(channel, NetworkError(.stopped, "the transport was stopped"))
        }
        _ = changes.drain()
    }
}
