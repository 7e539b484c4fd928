import SheafBytes
package import SheafDocument

/// One side of a conversation between two peers.
///
/// A machine: it is told of bytes and of time, and returns what to do. Each side asks for what it wants
/// (`SyncSession+Asking.swift`) and tells what the other one wants (`SyncSession+Telling.swift`). What a
/// store has to do with it is up to its host.
package struct SyncSession: Sendable {
    /// What the host has to do.
    package enum Effect: Equatable, Sendable {
        case send([UInt8])
        /// To end the connection, once everything before is sent.
        case end(Farewell)
        /// The other side has said who it is.
        case greeted(Hello)

        // What this side wants.

        /// To call `compare(with:)` with the list of what this side has.
        case listOwn(generation: UInt64)
        /// The documents found to differ, where the host has asked for them.
        case differing([DocumentAddress])
        /// To apply some commits of the other side, all of them at once; or to keep them until the rest is
        /// there.
        case apply(ShippedStep)
        /// To see whether all of that is here, and to acknowledge its commit, or to subscribe again.
        case announced(Announce)

        // What the other side wants.

        /// To stream from a cursor, or to call `restart()` where it is not known; without a cursor there
        /// is nothing to do yet.
        case subscribed(Subscribe)
        /// To call `tell(_:)` with the list of what matches.
        case listMatches
        /// To send these documents, and then all changes after that state; for a part, to send its documents in the
        /// compared state, and to call `endPart(_:)`.
        case wanted(Want.Documents)
        case acknowledged(commit: UInt64)
        /// To announce commits from now on, instead of sending them.
        case announceOnly
        /// The other side has set documents of this one aside, or has none set aside any more.
        case setAside(SetAsideNotice)
        /// The other side has refused documents of a step.
        case refused(RefusedNotice)
        /// The other side knows a write that this one does not have, or another peer with its site.
        case forgotten(ForgottenWrite)
        /// The other side writes with this site from now on.
        case changedSite(Site)
        case pauses(SitePauses)
        /// There is room again for what is to be sent.
        case roomToSend

        // Attachments.

        /// The other side wants a file, or does not any more.
        case sought(Seek)
        /// The other side has a file.
        case offered(Offer)
        /// The bytes of a part that this side has asked for; none where the other side cannot tell.
        case fetched(AttachmentPart, [UInt8]?)
        /// The other side asks whether a token is proven here, which `confirm(_:)` answers.
        case proofAsked(TokenAddress)
        /// A token of which this side has asked is proven at the other one.
        case proven(TokenAddress)

        // Presence.

        /// The other side tells of peers; `takePresence()` lets it go on.
        case presence(PresenceMessage)
        /// The other side has taken what it was told of peers.
        case presenceTaken
    }

    /// What the host calls it.
    enum Phase: Equatable {
        case greeting, open, ended
    }

    let hello: Hello
    /// Who the transport has proven the other side to be; none where nobody has.
    private let expectedKey: [UInt8]?
    private(set) var phase = Phase.greeting
    /// Whether the other side ended the conversation.
    package private(set) var isEndedRemotely = false
    /// What the other side has said of itself.
    package internal(set) var remote: Hello?

    private var reader = FrameReader()
    private var writer = FrameWriter()
    private var effects: [Effect] = []
    /// How many of them were taken.
    private var takenCount = 0

    var asking = Asking()
    var telling = Telling()
    var fetching = Fetching()
    var presence = Presence()

    private let startedAt: UInt64
    /// When a frame has begun of which not all is there.
    private var frameBegunAt: UInt64?
    private var heardAt: UInt64
    private var isPinging = false

    /// Begins a conversation; the first effects are there at once.
    package init(_ hello: Hello, expecting key: [UInt8]? = nil, at now: UInt64) {
        self.hello = hello
        expectedKey = key
        (startedAt, heardAt) = (now, now)
        send(.hello, hello.bytes)
    }

    /// What to do, in this order; each is told once.
    package mutating func takeEffects() -> [Effect] {
        defer { (effects, takenCount) = ([], 0) }
        return Array(effects[takenCount...])
    }

    /// The next of them, where what it leads to may have effects of its own.
    package mutating func takeEffect() -> Effect? {
        guard takenCount < effects.count else {
            (effects, takenCount) = ([], 0)
            return nil
        }
        takenCount += 1
        return effects[takenCount - 1]
    }

    package var isOpen: Bool { phase == .open }

    // MARK: What the host tells

    /// Takes in received bytes, and each frame in them.
    package mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        append(bytes, at: now)
        while takeFrame() {}
    }

    /// Keeps received bytes until `takeFrame()` takes the frames in them.
    package mutating func append(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        guard phase != .ended, !bytes.isEmpty else { return }
        (heardAt, isPinging) = (now, false)
        reader.append(bytes)
    }

    /// Takes the next frame; false where there is none.
    ///
    /// The host handles the effects of each frame before the next one: a frame that subscribes ends what the
    /// frames before it asked for.
    package mutating func takeFrame() -> Bool {
        guard phase != .ended else { return false }
        do throws(WireError) {
            guard let frame = try reader.next() else {
                frameBegunAt = reader.waitingLength == 0 ? nil : frameBegunAt ?? heardAt
                return false
            }
            frameBegunAt = nil
            try take(frame)
        } catch {
            end(Farewell(.protocolBroken, "\(error)"))
        }
        return true
    }

    /// Notes that time goes by.
    package mutating func tick(at now: UInt64) {
        guard phase != .ended, let deadline, deadline <= now else { return }
        if phase == .greeting, startedAt + SyncLimits.greetingNanoseconds <= now {
            return end(Farewell(.timedOut, "nobody said who was there"))
        }
        if let frameBegunAt, frameBegunAt + SyncLimits.frameNanoseconds <= now {
            return end(Farewell(.timedOut, "a frame has begun and does not end"))
        }
        if heardAt + SyncLimits.idleNanoseconds <= now {
            return end(Farewell(.timedOut, "nothing was heard for long"))
        }
        if phase == .open, !isPinging, heardAt + SyncLimits.quietNanoseconds <= now {
            isPinging = true
            send(.ping, [])
        }
    }

    /// When time matters next.
    package var deadline: UInt64? {
        guard phase != .ended else { return nil }
        var deadlines = [heardAt + SyncLimits.idleNanoseconds]
        if phase == .greeting { deadlines.append(startedAt + SyncLimits.greetingNanoseconds) }
        if phase == .open, !isPinging { deadlines.append(heardAt + SyncLimits.quietNanoseconds) }
        if let frameBegunAt { deadlines.append(frameBegunAt + SyncLimits.frameNanoseconds) }
        return deadlines.min()
    }

    /// Ends the conversation, and says why.
    package mutating func end(_ farewell: Farewell) {
        guard phase != .ended else { return }
        send(.close, farewell.bytes)
        phase = .ended
        effects.append(.end(farewell))
        forget()
    }

    /// Lets go of what only a conversation that goes on needs.
    private mutating func forget() {
        reader = FrameReader()
        (asking, telling, fetching) = (Asking(), Telling(), Fetching())
        presence = Presence()
    }

    // MARK: Frames

    /// Sends a frame; ends the conversation where the other side would refuse its length.
    mutating func send(_ type: FrameType, _ body: [UInt8]) {
        guard phase != .ended else { return }
        guard body.count < SyncLimits.frameLength else {
            let text = "a frame \(type) of this side has \(body.count + 1) bytes; "
            return end(Farewell(.failed, text + "\(SyncLimits.frameLength) are allowed"))
        }
        effects.append(.send(writer.bytes(of: Frame(type, body))))
    }

    mutating func emit(_ effect: Effect) {
        effects.append(effect)
    }

    private mutating func take(_ frame: Frame) throws(WireError) {
        if case .greeting = phase {
            switch frame.type {
            case .hello: return try greet(try frame.read(Hello.init(decoding:)))
            case .close: break
            default: throw .outOfOrder("\(frame.type) before hello")
            }
        }
        if telling.subscribing != nil, frame.type != .subscribe, frame.type != .close {
            throw .outOfOrder("\(frame.type) within a subscription")
        }
        switch frame.type {
        case .hello: throw .outOfOrder("a second hello")
        case .close:
            let farewell = try frame.read(Farewell.init(decoding:))
            (phase, isEndedRemotely) = (.ended, true)
            emit(.end(farewell))
            forget()
        case .ping: send(.pong, [])
        case .pong: break
        case .subscribe: try takeSubscribe(try frame.read(SubscribePart.init(decoding:)))
        case .ask: try takeQuestion(frame)
        case .want: try takeWant(try frame.read(Want.init(decoding:)))
        case .acknowledge: try takeAcknowledgement(try frame.read(Acknowledge.init(decoding:)))
        case .credit: try takeCredit(try frame.read(LoneNumber.decode))
        case .answer: try takeAnswer(frame)
        case .segment: try takeSegment(frame)
        case .announce: try takeAnnounce(try frame.read(Announce.init(decoding:)))
        case .announceOnly: try takeAnnounceOnly(try frame.read(LoneNumber.decode))
        case .setAside:
            emit(.setAside(try frame.read(SetAsideNotice.init(decoding:))))
        case .refused: try takeRefused(try frame.read(RefusedNotice.init(decoding:)))
        case .forgotten:
            emit(.forgotten(try frame.read(ForgottenWrite.init(decoding:))))
        case .site: emit(.changedSite(try frame.read(NewSite.decode)))
        case .pauses: emit(.pauses(try frame.read(SitePauses.init(decoding:))))
        case .restart: try takeRestart(try frame.read(LoneNumber.decode))
        case .seek: try takeSeek(try frame.read(Seek.init(decoding:)))
        case .offer: emit(.offered(try frame.read(Offer.init(decoding:))))
        case .fetch: try takeFetch(try frame.read(AttachmentPart.init(decoding:)))
        case .part:
            let message = try frame.read(AttachmentBytes.init(decoding:))
            try takePart(message.part, message.content)
        case .lacking: try takePart(try frame.read(AttachmentPart.init(decoding:)), nil)
        case .askProof: try takeProofQuestion(try frame.read(TokenAddress.init(decoding:)))
        case .proven: try takeProven(try frame.read(TokenAddress.init(decoding:)))
        case .presence: try takePresence(try frame.read(PresenceMessage.init(decoding:)))
        case .presenceTaken: try takePresenceTaken(frame)
        }
    }

    private mutating func greet(_ other: Hello) throws(WireError) {
        guard hello.version(with: other) != nil else {
            return end(
                Farewell(
                    .version, "this side speaks the versions \(hello.versions) of the protocol"))
        }
        guard other.database == hello.database else {
            return end(Farewell(.database, "this side has another database"))
        }
        guard other.peerKey != hello.peerKey else {
            return end(Farewell(.sameKey, "both sides have the same key"))
        }
        guard expectedKey == nil || expectedKey == other.peerKey else {
            return end(
                Farewell(.refused, "the key in the greeting is not the one of the connection"))
        }
        remote = other
        phase = .open
        reader.limit = SyncLimits.frameLength
        emit(.greeted(other))
    }
}

extension Frame {
    /// Reads the body.
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
