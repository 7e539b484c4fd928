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
final class NetworkLoop {
    /// The state shared by the loop and its callers.
    final class Share: Sendable {
        let mailbox: Mailbox
        let connectionStates = ConnectionStates()
        let isStopped = Atomic<Bool>(false)
        /// Where other machines can connect to this peer.
        let addresses = Mutex<[PeerAddress]>([])

        init() throws(NetworkError) {
            mailbox = try Mailbox()
        }
    }

    /// The values passed to the thread that runs the loop.
    struct Setup: Sendable {
        let credentials: Credentials
        let limits: NetworkLimits
        let clock: Clock
        let random: @Sendable () -> UInt64
        let tls: TLSContext
        let listeners: [Socket]
        let peers: [NetworkAddress]
        let discovery: PeerDiscovery
        let proposals: [PeerKey: [PeerAddress]]
    }

    let setup: Setup
    let share: Share
    private weak var host: (any PeerTransportHost)?
    var channels: [UInt64: Channel] = [:]
    /// The channel of each connected peer, by its key.
    var connected: [PeerKey: UInt64] = [:]
    var dialers: [UInt64: Dialer] = [:]
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
    /// The time until which no connection is accepted, after the process ran out of descriptors.
    var pauseNanoseconds: UInt64?
    private var poller = Poller()
    /// The read buffer of all channels, for one TLS record.
    let incoming = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TLSSession.recordLength, alignment: 16)

    /// Maximum time between two checks of the wall clock, which may be set at any time.
    private static let longestWaitMilliseconds: UInt64 = 30_000

    init(_ setup: Setup, _ share: Share, host: (any PeerTransportHost)?) {
        self.setup = setup
        self.share = share
        self.host = host
        reports = ReportGate(perSecond: setup.limits.reportsPerSecond)
        failureReports = reports
        proposals = setup.proposals
        learnedPeers = LearnedPeers(setup.limits)
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
        for listener in setup.listeners {
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
            flush(channel)
        case .add(let address): add(address)
        case .remove(let address): remove(address)
        case .resolved(let dialer, let result): resolved(dialer, result)
        case .discover(let discovery): setDiscovery(discovery)
        case .propose(let peers): propose(peers)
        case .clockAdvanced: break
        case .stop: isStopping = true
        }
    }

    private func wait() {
        poller.removeAll()
        let mailboxIndex = poller.add(share.mailbox.readEnd, reading: true, writing: false)
        var timeout = Self.longestWaitMilliseconds
        let listeners =
            pauseNanoseconds == nil
            ? setup.listeners.map {
                ($0, poller.add($0.number, reading: true, writing: false))
            } : []
        let served = Array(channels.values)
        for channel in served {
            channel.pollerIndex = poller.add(
                channel.socket.number, reading: channel.wantsReading,
                writing: channel.wantsToWrite)
            if channel.isUnfinished { timeout = 0 }
        }
        discovery?.prepare(&poller)
        timeout = min(timeout, millisecondsToNextDeadline())
        if timeout == 0 || share.mailbox.beginWaiting() {
            poller.wait(milliseconds: Int(timeout))
        } else {
            poller.wait(milliseconds: 0)
        }
        if poller.isReadable(mailboxIndex) { share.mailbox.answerKnocks() }
        for channel in served {
            guard let index = channel.pollerIndex, channels[channel.identifier] === channel else {
                continue
            }
            let (readable, writable) = (poller.isReadable(index), poller.isWritable(index))
            guard readable || writable || channel.isUnfinished else { continue }
            serve(channel, writable: writable)
        }
        discovery?.read(poller, into: incoming, now: now)
        // Existing connections are served before new ones are accepted.
        for (listener, index) in listeners where poller.isReadable(index) { accept(listener) }
    }

    private func endAll() {
        share.mailbox.close()
        discovery?.stop()
        for channel in Array(channels.values) {
            flush(channel)
            end(channel, NetworkError(.stopped, "the transport was stopped"))
        }
        share.connectionStates.publish([])
    }
}
