#if NATS
    import CNATS
    import SheafHubEngine
    package import SheafHubLog
    import SheafSystem

    /// A hub log over NATS JetStream, version 2.12 or later (`format-spec/hub.md`, *Engines*).
    ///
    /// Each shard is a stream, so that the numbers of its entries have no gaps. The brokers must
    /// have `sync_interval: always`; otherwise they acknowledge what a power cut takes away.
    ///
    /// A lost connection is restored until `stop`, and followed shards continue, except that
    /// libnats gives up when a broker has refused the credentials twice. Blocking calls end at the
    /// latest after the time limits of their requests.
    package final class NATSHubLog: HubLog {
        /// The parts of a log that was started.
        private struct Parts {
            let session: NATSSession
            let streams: NATSStreams
            let publisher: NATSPublisher
            let followers: NATSFollowers
            let objects: NATSObjects
            let events: HubEventThread
            let broadcasts: OpaqueSubscription
            let receiver: UInt
        }

        private enum Phase {
            case idle
            case running(Parts)
            case stopped
        }

        private let configuration: NATSConfiguration
        private let names: NATSNames
        private let phase = Monitor(Phase.idle)

        /// Creates a hub log that is not connected.
        package init(_ configuration: NATSConfiguration) {
            self.configuration = configuration
            names = NATSNames(configuration)
        }

        package func start(_ host: any HubLogHost) throws(HubLogError) {
            let receiver = Receiver()
            let number = NATSCallbacks.add(receiver)
            do throws(HubLogError) {
                let parts = try makeParts(host, receiver, number)
                let isFirst = phase.withLock { phase in
                    guard case .idle = phase else { return false }
                    phase = .running(parts)
                    return true
                }
                precondition(isFirst, "A hub log is started once.")
            } catch {
                NATSCallbacks.remove(number)
                throw error
            }
        }

        package func stop() {
            let parts: Parts? = phase.withLock { phase in
                defer { phase = .stopped }
                guard case .running(let parts) = phase else { return nil }
                return parts
            }
            guard let parts else { return }
            parts.events.stop()
            NATSCallbacks.remove(parts.receiver)
            // Ends the requests for which the threads wait.
            parts.session.close()
            parts.publisher.stop()
            parts.followers.stop()
            parts.broadcasts.end()
        }

        private func makeParts(
            _ host: any HubLogHost, _ receiver: Receiver, _ number: UInt
        ) throws(HubLogError) -> Parts {
            let session = try NATSSession(configuration, number)
            let streams = NATSStreams(session, configuration)
            let publisher = try NATSPublisher(session)
            let events = try HubEventThread(host)
            let followers = NATSFollowers(
                session, streams, events, unread: configuration.unreadLength)
            receiver.set(publisher, followers, events)
            try followers.start()
            let broadcasts: OpaqueSubscription
            do throws(HubLogError) {
                broadcasts = try subscribe(session, number)
            } catch {
                followers.stop()
                throw error
            }
            let objects = NATSObjects(session, streams, publisher, configuration)
            return Parts(
                session: session, streams: streams, publisher: publisher, followers: followers,
                objects: objects, events: events, broadcasts: broadcasts, receiver: number)
        }

        /// Subscribes to the broadcasts of other hubs.
        private func subscribe(
            _ session: NATSSession, _ number: UInt
        ) throws(HubLogError) -> OpaqueSubscription {
            let broadcasts = OpaqueSubscription(
                try session.subscribe(
                    names.broadcasts, number, messages: Receiver.waitingBroadcasts))
            do throws(HubLogError) {
                // The broker has the subscription before another hub learns of this one.
                try session.flush()
            } catch {
                broadcasts.end()
                throw error
            }
            return broadcasts
        }

        private var parts: Parts? {
            phase.withLock { phase in
                if case .running(let parts) = phase { parts } else { nil }
            }
        }

        private func running() throws(HubLogError) -> Parts {
            guard let parts else {
                throw .disconnected("the hub log is not started, or was stopped")
            }
            return parts
        }

        // MARK: - Shards

        package func append(_ message: [UInt8], to log: HubLogID, as id: HubMessageID) {
            guard let parts else { return }
            let events = parts.events
            guard message.count <= HubLimits.messageLength else {
                let reason = "a message of \(message.count) bytes"
                return events.post(
                    .failed(id, .refused("\(reason); it has at most \(HubLimits.messageLength)")))
            }
            let subject = names.subject(of: HubShard(id.shard, of: log))
            parts.publisher.send(
                NATSPublisher.Job(subject: subject, bytes: message, id: id.text) { result in
                    switch result {
                    case .success(let entry): events.post(.stored(id, as: entry))
                    case .failure(let error): events.post(.failed(id, error))
                    }
                })
        }

        package func follow(_ shard: HubShard, from entry: UInt64) {
            parts?.followers.follow(shard, from: entry)
        }

        package func unfollow(_ shard: HubShard) { parts?.followers.unfollow(shard) }

        package func consumed(_ bytes: Int, of shard: HubShard) {
            parts?.followers.consumed(bytes, of: shard)
        }

        package func reread(_ entries: ClosedRange<UInt64>, of shard: HubShard) {
            parts?.followers.reread(entries, of: shard)
        }

        package func broadcast(_ bytes: [UInt8]) {
            guard bytes.count <= HubLimits.broadcastLength else { return }
            parts?.publisher.broadcast(names.broadcasts, bytes)
        }

        // MARK: - Objects and logs

        package func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
            try running().objects.put(name, bytes)
        }

        package func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) {
            try running().objects.get(name, body)
        }

        package func list(_ prefix: String) throws(HubLogError) -> [String] {
            try running().objects.list(prefix)
        }

        package func remove(_ name: String) throws(HubLogError) {
            try running().objects.remove(name)
        }

        package func load(
            _ name: String
        ) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
            try running().objects.load(name)
        }

        package func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement {
            try running().objects.replace(name, with: bytes, at: revision)
        }

        package func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            try running().streams.create(log, shardCount: shardCount)
        }

        package func logs() throws(HubLogError) -> [HubLogID] { try running().streams.logs() }

        package func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            try running().streams.check(log, shardCount: shardCount)
        }

        package func remove(_ log: HubLogID) throws(HubLogError) {
            try running().streams.remove(log)
        }

        package func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) -> Bool {
            try running().streams.trim(shard, before: entry)
            return false
        }
    }

    extension NATSHubLog {
        /// The receiver of acknowledgments, broadcasts and events of the connection.
        private final class Receiver: NATSReceiver {
            /// Maximum number of broadcasts that wait in libnats; beyond it, they are lost.
            static let waitingBroadcasts: Int32 = 4_096

            private struct Targets {
                let publisher: NATSPublisher
                let followers: NATSFollowers
                let events: HubEventThread
            }

            private struct State {
                var targets: Targets?
                /// Whether the connection was lost and not restored.
                var isLost = false
            }

            private let state = Monitor(State())

            func set(
                _ publisher: NATSPublisher, _ followers: NATSFollowers, _ events: HubEventThread
            ) {
                state.withLock { state in
                    state.targets = Targets(
                        publisher: publisher, followers: followers, events: events)
                    events.post(.connected)
                    guard state.isLost else { return }
                    events.post(
                        .disconnected(.disconnected("the connection ended while it was opened")))
                }
            }

            private var targets: Targets? { state.withLock { $0.targets } }

            func received(_ message: borrowing NATSMessage) {
                guard message.length <= HubLimits.broadcastLength else { return }
                targets?.events.post(.broadcast(message.bytes))
            }

            func acknowledged(_ message: UInt, _ result: Result<UInt64, HubLogError>) {
                targets?.publisher.complete(message, result)
            }

            func disconnected(_ error: HubLogError) {
                // Posted under the lock, so that losses and connections alternate.
                state.withLock { state in
                    let isFinal = if case .refused = error { true } else { false }
                    guard !state.isLost || isFinal else { return }
                    state.isLost = true
                    state.targets?.events.post(.disconnected(error))
                }
            }

            func reconnected() {
                let followers = state.withLock { state in
                    if state.isLost { state.targets?.events.post(.connected) }
                    state.isLost = false
                    return state.targets?.followers
                }
                followers?.reconnected()
            }
        }

        /// The subscription of broadcasts.
        private struct OpaqueSubscription: Sendable {
            private nonisolated(unsafe) let pointer: OpaquePointer

            init(_ pointer: OpaquePointer) {
                self.pointer = pointer
            }

            func end() { natsSubscription_Destroy(pointer) }
        }
    }
#endif
