import SheafHubLog
import SheafReplication

/// The rules about whether clients should use a hub.
package struct Readiness {
    /// Time without a connection after which a hub is not ready; engines restart within it.
    package static let connectionNanoseconds: UInt64 = 10_000_000_000
    /// Time after which a message that the engine has not stored makes a hub not ready.
    package static let appendNanoseconds: UInt64 = 10_000_000_000
    /// Time after which a hub whose own beats do not return is not ready.
    package static let beatNanoseconds: UInt64 = 10_000_000_000
    /// Time after which a hub whose thread does not respond is not live.
    package static let liveNanoseconds: UInt64 = 5_000_000_000
    /// Maximum deviation of the clock.
    package static let clockMilliseconds: Int64 = 30_000

    let sample: HubSample
    let formats: ClosedRange<UInt8>
    let now: UInt64

    package init(sample: HubSample, formats: ClosedRange<UInt8>, now: UInt64) {
        (self.sample, self.formats, self.now) = (sample, formats, now)
    }

    /// The reasons why the hub is not ready.
    package var reasons: [String] {
        let groups = [ownReasons, configurationReasons, shardReasons, engineReasons, clockReasons]
        return groups.flatMap { $0 }
    }

    /// Whether the thread of the peer responds.
    package var isLive: Bool { now < sample.respondedAt + Self.liveNanoseconds }

    private var ownReasons: [String] {
        var reasons: [String] = []
        if sample.isDraining { reasons.append("the hub is draining: it stops") }
        if let time = sample.hubs.sameKeyAt, now < time + OtherHubs.liveNanoseconds {
            reasons.append("another hub has the key of this one; give each hub a key of its own")
        }
        if !isLive {
            reasons.append(
                "the thread of the peer has not responded for \(seconds(since: sample.respondedAt)) s"
            )
        }
        return reasons
    }

    private var configurationReasons: [String] {
        let configuration = sample.configuration
        var reasons: [String] = []
        if configuration.format > formats.upperBound {
            reasons.append(
                "the hubs write messages of version \(configuration.format), and this program "
                    + "those up to \(formats.upperBound); install a newer one")
        }
        if configuration.replacement != nil {
            reasons.append("a hub is replacing the log")
        } else if let progress = sample.progress, progress.log != configuration.log {
            reasons.append(
                "the log was replaced by number \(configuration.number), which this hub does not read yet"
            )
        }
        if case .configuration(let reason)? = sample.maintenance.failure, sample.progress != nil {
            reasons.append(Self.line(reason))
        }
        if let failure = sample.configurationFailure, !reasons.contains(Self.line(failure)),
            now >= sample.configuredAt + 2 * Self.connectionNanoseconds
        {
            reasons.append("the configuration cannot be read: \(Self.line(failure))")
        }
        return reasons
    }

    private var shardReasons: [String] {
        guard let progress = sample.progress else {
            let failure = sample.maintenance.failure.map { ": \(Self.line("\($0)"))" } ?? ""
            return ["the hub has not begun to read the log\(failure)"]
        }
        return progress.shards.flatMap { shard in
            var reasons: [String] = []
            if let version = shard.newerVersion {
                reasons.append(
                    "shard \(shard.number) has messages of version \(version), and this program "
                        + "reads those up to \(formats.upperBound); install a newer one")
            } else if shard.isBlocked {
                reasons.append(
                    "shard \(shard.number) has documents that this program cannot read; install a "
                        + "newer one")
            } else if !shard.hasCaughtUp {
                reasons.append(
                    "shard \(shard.number) is read up to entry \(shard.progress.read), and not to "
                        + "its end")
            }
            for incident in shard.incidents {
                reasons.append("shard \(shard.number) has an incident: \(incident.sentence)")
            }
            return reasons
        }
    }

    private var engineReasons: [String] {
        let traffic = sample.traffic
        var reasons: [String] = []
        if let oldest = traffic.oldestUnanswered, now >= oldest + Self.appendNanoseconds {
            let failure = traffic.lastFailure.map { " (\(Self.line("\($0)")))" } ?? ""
            reasons.append(
                "the engine has not stored a message for \(seconds(since: oldest)) s\(failure)")
        }
        if let (error, since) = traffic.disconnection,
            now >= since + Self.connectionNanoseconds
        {
            reasons.append(Self.line("\(error)"))
        }
        if let returned = traffic.returnedAt, now >= returned + Self.beatNanoseconds {
            reasons.append(
                "the engine has not returned the beats of this hub for \(seconds(since: returned)) s"
            )
        }
        if !sample.isListening, reasons.isEmpty, sample.progress?.hasCaughtUp == true {
            reasons.append("the hub does not accept connections yet")
        }
        return reasons
    }

    private var clockReasons: [String] {
        let differences = [
            ("that of the engine", sample.traffic.clockDifference),
            ("those of the other hubs", sample.hubs.clockDifference(at: now)),
        ]
        return differences.compactMap { others, difference in
            guard let difference, difference.magnitude > Self.clockMilliseconds.magnitude else {
                return nil
            }
            let direction = difference > 0 ? "slow" : "fast"
            return
                "the clock of this hub is \(difference.magnitude / 1_000) s \(direction), compared "
                + "with \(others); synchronize it"
        }
    }

    /// Returns a text with a space in place of each line break and the spaces around it.
    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private func seconds(since time: UInt64) -> UInt64 {
        (now - min(now, time)) / 1_000_000_000
    }
}

extension ShardIncident {
    /// The incident in words, and what ends it.
    var sentence: String {
        let end = kind == .staleEngine ? "it ends when they arrive" : "a hub replaces the log"
        return "\(contradiction); \(end)"
    }

    /// The kind of the contradiction, and its entry, in words.
    var contradiction: String {
        let kind =
            switch kind {
            case .fork: "hubs or messages contradict each other"
            case .truncation: "entries that existed are gone or changed"
            case .loss: "messages are missing, and nothing has replaced them"
            case .staleEngine: "the engine does not deliver entries that others have read"
            }
        return "\(kind) (at entry \(entry))"
    }
}
