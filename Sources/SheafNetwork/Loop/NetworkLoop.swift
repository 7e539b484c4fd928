import Sheaf
import SheafStorage
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// All connections of a transport, on one thread that waits for none of them.
final class NetworkLoop {
    /// What the loop and those who ask something of it share.
    final class Share: Sendable {
        let mailbox: Mailbox
        let board = Board()
        let isStopped = Atomic<Bool>(false)

        init() throws(NetworkError) {
            mailbox = try Mailbox()
        }
    }

    /// What a loop is made of; it crosses into the thread.
    struct Setup: Sendable {
        let credentials: Credentials
        let limits: NetworkLimits
        let clock: Clock
        let random: @Sendable () -> UInt64
        let tls: TLSContext
        let listeners: [Socket]
        let peers: [NetworkAddress]
    }

    let setup: Setup
    let share: Share
    private weak var host: (any PeerTransportHost)?
    var channels: [UInt64: Channel] = [:]
    /// The channel that talks with a peer.
    var talking: [[UInt8]: UInt64] = [:]
    var dialers: [UInt64: Dialer] = [:]
    private var lastIdentifier: UInt64 = 0
    private var isStopping = false
    private var reports: ReportGate
    /// Whether the board shows something else than what is.
    var isBoardOld = true
    /// Until when nobody is taken in, as there is no room for more descriptors.
    var pauseNanoseconds: UInt64?
    private var poller = Poller()
    /// What is read goes through here, one record at a time.
    let incoming = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TLSSession.recordLength, alignment: 16)

    /// Nobody waits longer, so that a wall clock that is set is noticed.
    private static let longestWaitMilliseconds: UInt64 = 30_000

    init(_ setup: Setup, _ share: Share, host: (any PeerTransportHost)?) {
        self.setup = setup
        self.share = share
        self.host = host
        reports = ReportGate(perSecond: setup.limits.reportsPerSecond)
    }

    deinit {
        incoming.deallocate()
    }

    var limits: NetworkLimits { setup.limits }
    var now: UInt64 { setup.clock.monotonicNanoseconds() }
    var wallNow: UInt64 { setup.clock.wallMilliseconds() }

    /// Runs until it is stopped.
    func run() {
        blockPipeSignal()
        for listener in setup.listeners {
            guard let address = listener.ownAddress else { continue }
            tell { $0.report(.listening(address: address.description)) }
        }
        for peer in setup.peers { add(peer) }
        while !isStopping {
            for letter in share.mailbox.take() { read(letter) }
            guard !isStopping else { break }
            lookAtClock()
            if isBoardOld { showBoard() }
            wait()
        }
        endAll()
    }

    /// A number for a channel or a dialer, which no other has had.
    func newIdentifier() -> UInt64 {
        lastIdentifier += 1
        return lastIdentifier
    }

    /// Asks the host, unless the transport was stopped.
    func tell<Answer>(_ body: (any PeerTransportHost) -> Answer) -> Answer? {
        guard let host, !share.isStopped.load(ordering: .acquiring) else { return nil }
        return body(host)
    }

    /// Tells people that somebody was refused.
    func reportRefusal(_ address: String, _ error: NetworkError) {
        guard let omitted = reports.pass(atNanoseconds: now) else { return }
        let reason = error.description + (omitted > 0 ? " (and \(omitted) more like this)" : "")
        tell { $0.report(.refused(address: address, reason: reason)) }
    }

    private func read(_ letter: Mailbox.Letter) {
        switch letter {
        case .flush(let identifier):
            guard let channel = channels[identifier] else { return }
            flush(channel)
        case .add(let address): add(address)
        case .remove(let address): remove(address)
        case .resolved(let dialer, let result): resolved(dialer, result)
        case .look: break
        case .stop: isStopping = true
        }
    }

    private func wait() {
        poller.removeAll()
        let door = poller.add(share.mailbox.readEnd, reading: true, writing: false)
        var timeout = Self.longestWaitMilliseconds
        let places =
            pauseNanoseconds == nil
            ? setup.listeners.map {
                ($0, poller.add($0.number, reading: true, writing: false))
            } : []
        let served = Array(channels.values)
        for channel in served {
            channel.place = poller.add(
                channel.socket.number, reading: channel.wantsReading,
                writing: channel.wantsToWrite)
            if channel.isUnfinished { timeout = 0 }
        }
        timeout = min(timeout, millisecondsToNextDeadline())
        if timeout == 0 || share.mailbox.beginWaiting() {
            poller.wait(milliseconds: Int(timeout))
        } else {
            poller.wait(milliseconds: 0)
        }
        if poller.isReadable(door) { share.mailbox.answerKnocks() }
        for channel in served {
            guard let place = channel.place, channels[channel.identifier] === channel else {
                continue
            }
            let (readable, writable) = (poller.isReadable(place), poller.isWritable(place))
            guard readable || writable || channel.isUnfinished else { continue }
            serve(channel, writable: writable)
        }
        // Who was there before is served first.
        for (listener, place) in places where poller.isReadable(place) { accept(listener) }
    }

    private func endAll() {
        share.mailbox.close()
        for channel in Array(channels.values) {
            flush(channel)
            end(channel, NetworkError(.stopped, "the transport was stopped"))
        }
        share.board.show([])
    }
}
