#if NATS
    import CNATS
    import SheafHubLog

    /// Entries of a shard that must be read again.
    struct NATSReread: Equatable {
        let shard: HubShard
        /// The entries of the call.
        let call: ClosedRange<UInt64>
        /// Those of them that were not read.
        let entries: ClosedRange<UInt64>

        /// The part of it from a number on.
        func rest(from entry: UInt64) -> NATSReread {
            NATSReread(shard: shard, call: call, entries: entry...entries.upperBound)
        }
    }

    /// Entries that the leader of a shard returned.
    struct NATSRead {
        var entries: [HubLogEntry] = []
        /// The entries that must be read next.
        var rest: NATSReread?
        /// The reason why the leader returned no more.
        var error: HubLogError?
    }

    /// A subscription of libnats on a subject of its own.
    struct NATSSubscription: Sendable {
        /// The subject to which a consumer delivers.
        let subject: String
        private nonisolated(unsafe) let pointer: OpaquePointer
        private let session: NATSSession

        /// Subscribes; messages go to the receiver with this number.
        init(_ session: NATSSession, _ receiver: UInt) throws(HubLogError) {
            var inbox: UnsafeMutablePointer<CChar>?
            guard natsInbox_Create(&inbox) == NATS_OK, let inbox else {
                throw .refused("no memory for a subscription")
            }
            defer { natsInbox_Destroy(inbox) }
            subject = String(cString: inbox)
            pointer = try session.subscribe(subject, receiver)
            self.session = session
        }

        /// Ends the subscription; it must be called exactly once.
        func end() {
            // After the connection was closed, this frees memory only.
            natsSubscription_Destroy(pointer)
        }
    }

    /// A message that a consumer has sent to its subscription.
    enum NATSConsumerMessage: Equatable {
        case entry(NATSDelivery, [UInt8])
        case heartbeat(lastSequence: UInt64?, stalled: String?)
        case flowControl(reply: String)
        /// The consumer ended, or sent something else.
        case end

        init(_ message: borrowing NATSMessage) {
            let reply = message.reply
            if let reply, let delivery = NATSDelivery(reply: reply) {
                self = .entry(delivery, message.bytes)
            } else if message.header("Status") != "100" {
                self = .end
            } else if let reply {
                self = .flowControl(reply: reply)
            } else {
                self = .heartbeat(
                    lastSequence: message.header("Nats-Last-Consumer").flatMap { UInt64($0) },
                    stalled: message.header("Nats-Consumer-Stalled"))
            }
        }
    }

    extension NATSFollower {
        mutating func received(_ message: NATSConsumerMessage, at now: UInt64) {
            switch message {
            case .entry(let delivery, let bytes): received(delivery, bytes, at: now)
            case .heartbeat(let last, let stalled):
                receivedHeartbeat(lastSequence: last, stalled: stalled, at: now)
            case .flowControl(let reply): received(flowReply: reply, at: now)
            case .end: resubscribe(at: now)
            }
        }
    }

    /// The streams of shards on the brokers.
    struct NATSStreams: Sendable {
        /// Maximum number and length of entries that are read again at a time.
        private static let rereadEntries: UInt64 = 64
        private static let rereadLength = 4 << 20
        /// Time limit of creating a consumer, for which those of other shards wait.
        private static let consumerMilliseconds: Int64 = 2_000

        let session: NATSSession
        let names: NATSNames
        let replicas: Int64

        init(_ session: NATSSession, _ configuration: NATSConfiguration) {
            self.session = session
            names = NATSNames(configuration)
            replicas = Int64(configuration.replicas)
        }

        /// Creates a stream for file storage that never removes messages by itself.
        ///
        /// One that exists may have another configuration, if it keeps its messages.
        func create(
            _ name: String, subject: String, isShard: Bool = false,
            _ change: (inout jsStreamConfig) -> Void
        ) throws(HubLogError) {
            var exists = false
            try session.request("create the stream \(name)") { context, code in
                name.withCString { name in
                    subject.withCString { subject in
                        var subjects: UnsafePointer<CChar>? = subject
                        return withUnsafeMutablePointer(to: &subjects) { subjects in
                            var configuration = jsStreamConfig()
                            jsStreamConfig_Init(&configuration)
                            configuration.Name = name
                            configuration.Subjects = subjects
                            configuration.SubjectsLen = 1
                            configuration.Storage = js_FileStorage
                            configuration.Discard = js_DiscardNew
                            configuration.Replicas = replicas
                            configuration.AllowDirect = true
                            change(&configuration)
                            let status = js_AddStream(nil, context, &configuration, nil, code)
                            exists = code.pointee.rawValue == HubLogError.Code.otherStream
                            return exists ? NATS_OK : status
                        }
                    }
                }
            }
            if exists { try check(name, isShard: isShard) }
        }

        func exists(_ name: String) throws(HubLogError) -> Bool {
            do throws(HubLogError) {
                try session.request("find the stream \(name)") { context, code in
                    var info: UnsafeMutablePointer<jsStreamInfo>?
                    let status = js_GetStreamInfo(&info, context, name, nil, code)
                    jsStreamInfo_Destroy(info)
                    return status
                }
            } catch  where error.isMissing {
                return false
            }
            return true
        }

        /// Creates the streams of a log.
        func create(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            guard 1...HubLimits.shards ~= shardCount else {
                throw .refused("a log of \(shardCount) shards; it has 1 to \(HubLimits.shards)")
            }
            for number in 0..<shardCount {
                let shard = HubShard(UInt16(number), of: log)
                try create(
                    names.stream(of: shard), subject: names.subject(of: shard), isShard: true
                ) { stream in
                    stream.DenyDelete = true
                    stream.Duplicates = 120_000_000_000
                    stream.MaxMsgSize = Int32(HubLimits.messageLength) + 1_024
                }
                guard try last(of: shard) == 0 else {
                    throw .refused("a new log with the id of one that has entries")
                }
            }
        }

        /// Removes the streams of a log.
        func remove(_ log: HubLogID) throws(HubLogError) {
            let prefix = names.streams(of: log)
            for name in try streams(names.subjects(of: log)) where name.hasPrefix(prefix) {
                do throws(HubLogError) {
                    try session.request("remove the stream \(name)") { context, code in
                        js_DeleteStream(context, name, nil, code)
                    }
                } catch  where error.isMissing {
                    continue
                }
            }
        }

        /// Returns the names of the streams whose subjects some subjects have in common.
        func streams(_ subjects: String) throws(HubLogError) -> [String] {
            var found: [String] = []
            try session.request("list the streams of a log") { context, code in
                subjects.withCString { subject in
                    var options = jsOptions()
                    jsOptions_Init(&options)
                    options.Stream.Info.SubjectsFilter = subject
                    var list: UnsafeMutablePointer<jsStreamNamesList>?
                    let status = js_StreamNames(&list, context, &options, code)
                    guard let list else { return status == NATS_NOT_FOUND ? NATS_OK : status }
                    for index in 0..<Int(list.pointee.Count) {
                        guard let name = list.pointee.List[index] else { continue }
                        found.append(String(cString: name))
                    }
                    jsStreamNamesList_Destroy(list)
                    return status
                }
            }
            return found
        }

        /// Creates a consumer that delivers the entries of a shard from a number on.
        ///
        /// It ends by itself when its subscription ends.
        func addConsumer(
            of shard: HubShard, from entry: UInt64, to subject: String
        ) throws(HubLogError) {
            let stream = names.stream(of: shard)
            try session.request("follow shard \(shard.number)") { context, code in
                subject.withCString { subject in
                    var consumer = jsConsumerConfig()
                    jsConsumerConfig_Init(&consumer)
                    consumer.DeliverSubject = subject
                    consumer.DeliverPolicy = js_DeliverByStartSequence
                    consumer.OptStartSeq = entry
                    consumer.AckPolicy = js_AckNone
                    consumer.MaxDeliver = 1
                    consumer.FlowControl = true
                    consumer.Heartbeat = Int64(NATSFollower.heartbeatNanoseconds)
                    consumer.InactiveThreshold = 10_000_000_000
                    consumer.MemoryStorage = true
                    consumer.Replicas = 1
                    var options = jsOptions()
                    jsOptions_Init(&options)
                    options.Wait = Self.consumerMilliseconds
                    return js_AddConsumer(nil, context, stream, &consumer, &options, code)
                }
            }
        }

        /// Returns the number of the last entry, as the leader reports it; 0 if there was none.
        func last(of shard: HubShard) throws(HubLogError) -> UInt64 {
            let stream = names.stream(of: shard)
            var last: UInt64 = 0
            try session.request("read the state of shard \(shard.number)") { context, code in
                var info: UnsafeMutablePointer<jsStreamInfo>?
                let status = js_GetStreamInfo(&info, context, stream, nil, code)
                if let info { last = info.pointee.State.LastSeq }
                jsStreamInfo_Destroy(info)
                return status
            }
            return last
        }

        /// Removes the entries of a shard before a number.
        func trim(_ shard: HubShard, before entry: UInt64) throws(HubLogError) {
            // Zero would remove all entries, and a number beyond the end would leave a gap.
            let entry = min(entry, try last(of: shard) + 1)
            guard entry > 1 else { return }
            let stream = names.stream(of: shard)
            try session.request("trim shard \(shard.number)") { context, code in
                var options = jsOptions()
                jsOptions_Init(&options)
                options.Stream.Purge.Sequence = entry
                return js_PurgeStream(context, stream, &options, code)
            }
        }

        /// Reads some entries from the leader.
        func read(_ reread: NATSReread) -> NATSRead {
            let range = reread.entries
            let stream = names.stream(of: reread.shard)
            var read = NATSRead()
            var length = 0
            do throws(HubLogError) {
                // Otherwise a wrong range would ask for numbers that do not exist, one by one.
                let end = min(range.upperBound, try last(of: reread.shard))
                var next = range.lowerBound
                while next <= end {
                    guard next - range.lowerBound < Self.rereadEntries, length < Self.rereadLength
                    else {
                        read.rest = reread.rest(from: next)
                        return read
                    }
                    let message = try session.message("read entry \(next)") {
                        message, context, code in
                        js_GetMsg(message, context, stream, next, nil, code)
                    }
                    if let message {
                        let (bytes, time) = (message.bytes, message.wallMilliseconds)
                        read.entries.append(HubLogEntry(next, bytes, storedAt: time))
                        length += bytes.count
                    }
                    next += 1
                }
            } catch {
                read.error = error
            }
            return read
        }
    }
#endif
