import SheafBytes

/// Deadlines and retries.
extension NetworkLoop {
    /// Ends channels past their deadline, and dials addresses whose delay has passed.
    func handleClockChange() {
        let (now, wallNow) = (now, wallNow)
        acceptPause.advance(to: now)
        while let end = nextGrantEnd, end.time <= wallNow {
            grantEnds.removeFirst()
            if let channel = channels[end.channel] { expire(channel) }
        }
        while let end = nextStageEnd, end.time <= now {
            stageEnds.removeFirst()
            if let channel = channels[end.channel] { tookTooLong(channel) }
        }
        for dialer in Array(dialers.values) {
            if case .waiting(let until) = dialer.phase, until <= now { dial(dialer.identifier) }
        }
    }

    /// The earliest end of a stage that still applies.
    private var nextStageEnd: TimeQueue.Entry? {
        while let end = stageEnds.first {
            let channel = channels[end.channel]
            if channel?.deadlineNanoseconds == end.time { return end }
            stageEnds.removeFirst()
            if channel?.queuedStageEnd == end.time { channel?.queuedStageEnd = nil }
        }
        return nil
    }

    /// The earliest end of a grant that still applies.
    private var nextGrantEnd: TimeQueue.Entry? {
        while let end = grantEnds.first {
            let channel = channels[end.channel]
            if channel?.endMilliseconds == end.time { return end }
            grantEnds.removeFirst()
            if channel?.queuedGrantEnd == end.time { channel?.queuedGrantEnd = nil }
        }
        return nil
    }

    /// Returns the time until the next deadline.
    func millisecondsToNextDeadline(atMost milliseconds: UInt64) -> UInt64 {
        var wait = LoopWait(
            atNanoseconds: now, wallMilliseconds: wallNow, atMost: milliseconds)
        if let end = acceptPause.end { wait.end(atNanoseconds: end) }
        if let discovery { wait.end(atNanoseconds: min(discovery.deadline, nextLearning)) }
        if let end = nextStageEnd { wait.end(atNanoseconds: end.time) }
        if let end = nextGrantEnd { wait.end(atWallMilliseconds: end.time) }
        for dialer in dialers.values {
            if case .waiting(let until) = dialer.phase { wait.end(atNanoseconds: until) }
        }
        return wait.milliseconds
    }

    private func expire(_ channel: Channel) {
        let error = NetworkError(
            .grantExpired, "a grant of this connection has expired; both ends need a valid grant")
        reportRefusal(channel.address, error)
        end(channel, error)
    }

    private func tookTooLong(_ channel: Channel) {
        switch channel.stage {
        case .connecting:
            end(
                channel,
                NetworkError(
                    .handshakeTime,
                    "\(channel.address.shortened(to: ErrorText.limit)) does not respond"))
        case .tlsHandshake, .handshake:
            let error = NetworkError(
                .handshakeTime,
                "handshake timeout: no valid greeting within \(limits.handshakeMilliseconds) ms")
            if channel.role == .listener { reportRefusal(channel.address, error) }
            end(channel, error)
        case .exchange:
            end(
                channel, NetworkError(.queue, "the peer did not receive the last bytes in time")
            )
        case .closeMessage, .silence:
            end(channel, .closedByOwnPeer)
        }
    }
}
