package import SheafBytes
package import SheafDocument

/// One side of a session between two peers.
///
/// A machine: inputs are bytes and time; outputs are effects. The receiving half is in
/// `SyncSession+Receiving.swift`, the sending half in `SyncSession+Sending.swift`. The host reads
/// and writes the store.
package struct SyncSession: Sendable {
    /// An effect that the host must carry out.
    package enum Effect: Equatable, Sendable {
        case send([UInt8])
        /// Closes the connection after all preceding bytes are sent.
        case end(CloseMessage)
        /// The hello of the peer was received.
        case greeted(Hello)

        // The receiving half of a session uses these effects.

        /// Requests a call of `compare(with:)` with the local version list.
        case listOwn(generation: UInt64)
        /// The documents found to differ, if the host requested them.
        case differing([DocumentAddress])
        /// Applies a batch of commits atomically, or stages it until its remainder arrives.
        case apply(ShippedStep)
        /// Acknowledges the commit if all announced documents are present, or subscribes again.
        case announced(Announce)

        // The sending half of a session uses these effects.

        /// Starts streaming from the cursor; the host calls `restart()` if it cannot be used.
        ///
        /// Without a cursor the peer reconciles first.
        case subscribed(Subscribe)
        /// Requests a call of `sendAnswer(_:)` with the version list of the matching documents.
        case listMatches
        /// Sends these documents as of one snapshot, and then all later changes.
        ///
        /// For a part, sends its documents in the compared state, and then calls `endPart(_:)`.
        case wanted(Want.Documents)
        /// Ranges of documents that are wanted in addition to those of the next `wanted`.
        ///
        /// `count` is the number of these documents.
        case wantedRanges([KeyRange], count: Int)
        case acknowledged(commit: UInt64)
        /// Announces further commits instead of sending them.
        case announceOnly
        /// The peer reports its number of quarantined documents.
        case quarantine(QuarantineNotice)
        /// The peer refused documents of a batch.
        case refused(RefusedNotice)
        /// The peer reports a write that this store has lost, or another peer with its site.
        case lostWrite(LostWrite)
        /// The peer changed its site.
        case changedSite(Site)
        case pauses(SitePauses)
        /// Credit arrived after `hasRoom()` returned false.
        case roomToSend

        // These effects are about attachments.

        /// The peer seeks an attachment, or cancels the search.
        case sought(Seek)
        /// The peer offers an attachment.
        case offered(Offer)
        /// The bytes of a requested part; nil if the peer cannot provide them.
        case fetched(AttachmentPart, [UInt8]?)
        /// The peer requests proof of a token; `confirm(_:)` responds.
        case proofAsked(TokenAddress)
        /// The peer confirmed a token.
        case proven(TokenAddress)

        // These effects are about presence.

        /// Peer records were received; `takePresence()` acknowledges them.
        case presence(PresenceMessage)
        /// The peer acknowledged the last presence message.
        case presenceAcknowledged
    }

    /// The phase of the session.
    enum Phase: Equatable {
        case greeting, open, ended
    }

    let hello: Hello
    /// The peer's key as authenticated by the transport; nil without authentication.
    private let expectedKey: [UInt8]?
    /// Maximum expanded length of a received batch, in bytes.
    let maximumStagedLength: Int
    private(set) var phase = Phase.greeting
    /// Whether the peer ended the session.
    package private(set) var isEndedRemotely = false
    /// The hello of the peer.
    package internal(set) var remote: Hello?
    /// The negotiated version of the protocol; 0 before the hello of the peer.
    package private(set) var version: UInt64 = 0

    var reader = FrameReader()
    private var writer = FrameWriter()
    private var effects: [Effect] = []
    /// Number of effects already returned.
    private var returnedCount = 0

    var receiver = Receiver()
    var sender = Sender()
    var fetching = Fetching()
    var presence = Presence()

    /// The time of the last event.
    private(set) var now: UInt64
    private let startedAt: UInt64
    /// Time at which an incomplete frame began.
    private var frameBegunAt: UInt64?
    private var lastReceipt: UInt64
    private var isPinging = false

    /// Starts a session; its first effects are immediately available.
    package init(
        _ hello: Hello, expecting key: [UInt8]? = nil,
        stagedLength: Int = SyncLimits.stagedLength, at now: UInt64
    ) {
        self.hello = hello
        expectedKey = key
        maximumStagedLength = stagedLength
        (self.now, startedAt, lastReceipt) = (now, now, now)
        send(.hello, hello.bytes)
    }

    /// Removes and returns all pending effects, in order.
    package mutating func drainEffects() -> [Effect] {
        defer { (effects, returnedCount) = ([], 0) }
        return Array(effects[returnedCount...])
    }

    /// Removes and returns the next effect; the host may call other methods between two effects.
    package mutating func nextEffect() -> Effect? {
        guard returnedCount < effects.count else { return nil }
        let effect = effects[returnedCount]
        returnedCount += 1
        if returnedCount == effects.count { (effects, returnedCount) = ([], 0) }
        return effect
    }

    /// Whether effects are pending.
    package var hasEffects: Bool { returnedCount < effects.count }

    package var isOpen: Bool { phase == .open }

    /// Whether the peer can subscribe to all collections, and understands such a subscription.
    package var hasAllCollections: Bool { version >= Hello.allCollectionsVersion }

    // MARK: Inputs

    /// Sets the time before an event that has none.
    package mutating func advance(to now: UInt64) { self.now = now }

    /// Buffers received bytes, and handles all complete frames.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        append(bytes, at: now)
        while processFrame() {}
    }

    /// Buffers received bytes for `processFrame()`.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        guard phase != .ended, !bytes.isEmpty else { return }
        self.now = now
        (lastReceipt, isPinging) = (now, false)
        reader.append(bytes)
    }

    /// Handles the next complete frame; returns false if there is none.
    ///
    /// The host carries out the effects of a frame before it handles the next one, since a new
    /// subscription invalidates the effects of earlier frames.
    package mutating func processFrame() -> Bool {
        guard phase != .ended else { return false }
        do throws(WireError) {
            guard let frame = try reader.next() else {
                frameBegunAt = reader.waitingLength == 0 ? nil : frameBegunAt ?? lastReceipt
                return false
            }
            frameBegunAt = nil
            try handle(frame)
        } catch {
            end(CloseMessage(.protocolBroken, "\(error)"))
        }
        return true
    }

    /// Sends a ping if one is due; ends the session after a timeout.
    package mutating func tick(at now: UInt64) {
        self.now = now
        guard phase != .ended, let deadline, deadline <= now else { return }
        if phase == .greeting, startedAt + SyncLimits.greetingNanoseconds <= now {
            return end(CloseMessage(.timedOut, "handshake timeout: no hello received"))
        }
        if let frameBegunAt, frameBegunAt + SyncLimits.frameNanoseconds <= now {
            return end(CloseMessage(.timedOut, "frame timeout: an incomplete frame was received"))
        }
        if lastReceipt + SyncLimits.idleNanoseconds <= now {
            return end(CloseMessage(.timedOut, "idle timeout: nothing received for 90 s"))
        }
        if phase == .open, !isPinging, lastReceipt + SyncLimits.quietNanoseconds <= now {
            isPinging = true
            send(.ping, [])
            reader.releaseBuffer()
        }
        dropHistoryIfDue()
    }

    /// Time of the next timeout or ping.
    package var deadline: UInt64? {
        guard phase != .ended else { return nil }
        var first = lastReceipt + SyncLimits.idleNanoseconds
        if phase == .greeting { first = min(first, startedAt + SyncLimits.greetingNanoseconds) }
        if phase == .open, !isPinging {
            first = min(first, lastReceipt + SyncLimits.quietNanoseconds)
        }
        if let frameBegunAt { first = min(first, frameBegunAt + SyncLimits.frameNanoseconds) }
        if let historyDeadline { first = min(first, historyDeadline) }
        return first
    }

    /// Sends a close message and ends the session, unless it has ended.
    package mutating func end(_ closeMessage: CloseMessage) {
        guard phase != .ended else { return }
        send(.close, closeMessage.bytes)
        phase = .ended
        effects.append(.end(closeMessage))
        releaseState()
    }

    /// Releases the state of an open session.
    private mutating func releaseState() {
        reader = FrameReader()
        (receiver, sender, fetching) = (Receiver(), Sender(), Fetching())
        presence = Presence()
    }

    // MARK: Frames

    /// Sends a frame; closes the session if the peer would refuse its length.
    mutating func send(_ type: FrameType, _ body: [UInt8]) {
        guard phase != .ended else { return }
        guard body.count < SyncLimits.frameLength else {
            let text = "outgoing frame \(type) has \(body.count + 1) bytes; "
            return end(CloseMessage(.failed, text + "maximum is \(SyncLimits.frameLength)"))
        }
        effects.append(.send(writer.bytes(of: Frame(type, body))))
    }

    /// Sends an unsolicited message, if the session is open.
    package mutating func report<Message: UnsolicitedMessage>(_ message: Message) {
        guard isOpen else { return }
        send(Message.type, message.bytes)
    }

    mutating func emit(_ effect: Effect) {
        effects.append(effect)
    }

    private mutating func handle(_ frame: Frame) throws(WireError) {
        if case .greeting = phase {
            switch frame.type {
            case .hello: return try greet(try frame.read(Hello.init(decoding:)))
            case .close: break
            default: throw .outOfOrder("`\(frame.type)` before `hello`")
            }
        }
        if sender.subscribing != nil, frame.type != .subscribe, frame.type != .close {
            throw .outOfOrder("`\(frame.type)` within a subscription")
        }
        switch frame.type {
        case .hello: throw .outOfOrder("a second `hello`")
        case .close:
            let closeMessage = try frame.read(CloseMessage.init(decoding:))
            (phase, isEndedRemotely) = (.ended, true)
            emit(.end(closeMessage))
            releaseState()
        case .ping: send(.pong, [])
        case .pong: break
        case .subscribe: try handleSubscribe(try frame.read(SubscribePart.init(decoding:)))
        case .ask: try handleQuestion(frame)
        case .want: try handleWant(try frame.read(Want.init(decoding:)))
        case .acknowledge: try handleAcknowledgement(try frame.read(Acknowledge.init(decoding:)))
        case .credit: try handleCredit(try frame.read(SingleNumber.decode))
        case .answer: try handleAnswer(frame)
        case .segment: try handleSegment(frame)
        case .historyDropped: try handleHistoryDropped(frame)
        case .announce: try handleAnnounce(try frame.read(Announce.init(decoding:)))
        case .announceOnly: try handleAnnounceOnly(try frame.read(SingleNumber.decode))
        case .quarantine:
            emit(.quarantine(try frame.read(QuarantineNotice.init(decoding:))))
        case .refused: try handleRefused(try frame.read(RefusedNotice.init(decoding:)))
        case .lostWrite:
            emit(.lostWrite(try frame.read(LostWrite.init(decoding:))))
        case .site: emit(.changedSite(try frame.read(NewSite.init(decoding:)).site))
        case .pauses: emit(.pauses(try frame.read(SitePauses.init(decoding:))))
        case .restart: try handleRestart(try frame.read(SingleNumber.decode))
        case .seek: try handleSeek(try frame.read(Seek.init(decoding:)))
        case .offer: emit(.offered(try frame.read(Offer.init(decoding:))))
        case .fetch: try handleFetch(try frame.read(AttachmentPart.init(decoding:)))
        case .part:
            let message = try frame.read(AttachmentBytes.init(decoding:))
            try handlePart(message.part, message.content)
        case .lacking: try handlePart(try frame.read(AttachmentPart.init(decoding:)), nil)
        case .askProof: try handleProofRequest(try frame.read(TokenAddress.init(decoding:)))
        case .proven: try handleProven(try frame.read(TokenAddress.init(decoding:)))
        case .presence: try takePresence(try frame.read(PresenceMessage.init(decoding:)))
        case .presenceAcknowledged: try takePresenceTaken(frame)
        }
    }

    private mutating func greet(_ other: Hello) throws(WireError) {
        guard let version = hello.version(with: other) else {
            return end(
                CloseMessage(
                    .version, "this peer supports protocol versions \(hello.versions)"))
        }
        guard other.database == hello.database else {
            return end(CloseMessage(.database, "this peer has a different database"))
        }
        guard other.peerKey != hello.peerKey else {
            return end(CloseMessage(.sameKey, "both peers have the same key"))
        }
        guard expectedKey == nil || expectedKey == other.peerKey else {
            return end(
                CloseMessage(.refused, "the key in the hello differs from that of the connection"))
        }
        (remote, self.version) = (other, version)
        phase = .open
        reader.limit = SyncLimits.frameLength
        emit(.greeted(other))
    }
}

extension Frame {
    /// Decodes the body; throws `WireError.malformed` if that fails.
    func read<Message>(
        _ decode: (UnsafeRawBufferPointer) throws(Malformed) -> Message
    ) throws(WireError) -> Message {
        do throws(Malformed) {
            return try body.span.withUnsafeBytes { (body) throws(Malformed) in try decode(body) }
        } catch {
            throw .malformed(error)
        }
    }
}
