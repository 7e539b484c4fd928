#if NATS
    import CNATS
    import SheafHubLog
    import SheafSystem

    /// The objects of a database: chunks in a stream, and replaceable ones in a key-value bucket.
    ///
    /// All calls block, at most for the time limits of their requests.
    final class NATSObjects: Sendable {
        /// Maximum number of chunks that are sent before they are acknowledged.
        private static let window = 4
        private static let pauseNanoseconds: UInt64 = 500_000_000

        private let session: NATSSession
        private let streams: NATSStreams
        private let publisher: NATSPublisher
        private let names: NATSNames
        private let replicas: Int32

        init(
            _ session: NATSSession, _ streams: NATSStreams, _ publisher: NATSPublisher,
            _ configuration: NATSConfiguration
        ) {
            (self.session, self.streams, self.publisher) = (session, streams, publisher)
            names = NATSNames(configuration)
            replicas = Int32(configuration.replicas)
        }

        // MARK: - Objects

        /// Stores an object, unless one with this name exists.
        func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {
            try NATSNames.check(name)
            guard let end = NATSObjectEnd(bytes) else {
                throw .refused(
                    "an object of \(bytes.count) bytes; it has at most "
                        + "\(NATSObjectEnd.maximumChunks * NATSObjectEnd.chunkLength)")
            }
            try createStream()
            guard try self.end(of: name) == nil else { return }
            try send(end.chunks.count) { number in
                let range = NATSObjectEnd.range(of: number, length: bytes.count)
                let subject = names.chunk(number, ofObject: name, contents: end.contents)
                return (subject, Array(bytes[range]))
            }
            // Readers find the object by its last message, so the chunks are stored before.
            try send(1) { _ in (names.end(ofObject: name), end.bytes) }
        }

        func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) {
            try NATSNames.check(name)
            guard let end = try end(of: name) else { throw .missing("object \(name)") }
            for number in end.chunks.indices {
                try body(try chunk(number, of: name, end))
            }
        }

        func list(_ prefix: String) throws(HubLogError) -> [String] {
            let stream = names.objects
            var found: [String] = []
            do throws(HubLogError) {
                try session.request("list objects") { context, code in
                    names.objectEnds.withCString { subjects in
                        var options = jsOptions()
                        jsOptions_Init(&options)
                        options.Stream.Info.SubjectsFilter = subjects
                        var info: UnsafeMutablePointer<jsStreamInfo>?
                        let status = js_GetStreamInfo(&info, context, stream, &options, code)
                        if let list = info?.pointee.State.Subjects {
                            for index in 0..<Int(list.pointee.Count) {
                                guard let subject = list.pointee.List[index].Subject else {
                                    continue
                                }
                                found.append(String(cString: subject))
                            }
                        }
                        jsStreamInfo_Destroy(info)
                        return status
                    }
                }
            } catch  where error.isMissing {
                return []
            }
            return found.compactMap { names.object(ofEnd: $0) }.filter { $0.hasPrefix(prefix) }
                .sorted()
        }

        func remove(_ name: String) throws(HubLogError) {
            try NATSNames.check(name)
            let stream = names.objects
            do throws(HubLogError) {
                try session.request("remove object \(name)") { context, code in
                    names.subjects(ofObject: name).withCString { subject in
                        var options = jsOptions()
                        jsOptions_Init(&options)
                        options.Stream.Purge.Subject = subject
                        return js_PurgeStream(context, stream, &options, code)
                    }
                }
            } catch  where error.isMissing {
                return
            }
        }

        private func createStream() throws(HubLogError) {
            // It may have been removed since the last object.
            guard try !streams.exists(names.objects) else { return }
            try streams.create(names.objects, subject: names.objectSubjects) { stream in
                // A chunk that is sent again replaces the first one.
                stream.MaxMsgsPerSubject = 1
            }
        }

        private func end(of name: String) throws(HubLogError) -> NATSObjectEnd? {
            let stream = names.objects
            let subject = names.end(ofObject: name)
            let message = try session.message("find object \(name)") { message, context, code in
                js_GetLastMsg(message, context, stream, subject, nil, code)
            }
            guard let message else { return nil }
            do {
                return try message.bytes.span.withUnsafeBytes { bytes in
                    try NATSObjectEnd(decoding: bytes)
                }
            } catch {
                throw .damaged("object \(name)")
            }
        }

        /// Returns a chunk from any broker, or from the leader if that one lacks it.
        private func chunk(
            _ number: Int, of name: String, _ end: NATSObjectEnd
        ) throws(HubLogError) -> [UInt8] {
            let stream = names.objects
            let subject = names.chunk(number, ofObject: name, contents: end.contents)
            let request = "read chunk \(number) of object \(name)"
            do throws(HubLogError) {
                let message = try session.message(request) { message, context, _ in
                    subject.withCString { subject in
                        var options = jsDirectGetMsgOptions()
                        jsDirectGetMsgOptions_Init(&options)
                        options.LastBySubject = subject
                        return js_DirectGetMsg(message, context, stream, nil, &options)
                    }
                }
                if let bytes = message?.bytes, end.matches(number, bytes) { return bytes }
            } catch  where error.isTransient {}
            let message = try session.message(request) { message, context, code in
                js_GetLastMsg(message, context, stream, subject, nil, code)
            }
            guard let bytes = message?.bytes else { throw .missing("object \(name)") }
            guard end.matches(number, bytes) else { throw .damaged("object \(name)") }
            return bytes
        }

        // MARK: - Sending

        /// The messages of an object that are being sent.
        private final class Sending: Sendable {
            private struct State {
                var count = 0
                var failed: [Int] = []
                var error: HubLogError?
            }

            private let state = Monitor(State())

            /// Waits until a further message may be sent, and counts it.
            func begin() {
                state.wait(while: { $0.count >= NATSObjects.window }) { $0.count += 1 }
            }

            func end(_ number: Int, _ result: Result<UInt64, HubLogError>) {
                state.withLock { state in
                    state.count -= 1
                    guard case .failure(let error) = result else { return }
                    state.failed.append(number)
                    state.error = error
                }
                state.broadcast()
            }

            /// Waits for all messages; returns those that failed, and one of the errors.
            func finish() -> (failed: [Int], error: HubLogError?) {
                state.wait(while: { $0.count > 0 }) { ($0.failed, $0.error) }
            }

            /// Waits before messages are sent again.
            func pause() {
                let deadline = Clock.system.monotonicNanoseconds() + NATSObjects.pauseNanoseconds
                state.wait(until: deadline, while: { _ in true })
            }
        }

        /// Sends messages until all are stored, several at a time.
        private func send(
            _ count: Int, _ message: (Int) -> (subject: String, bytes: [UInt8])
        ) throws(HubLogError) {
            var rest = Array(0..<count)
            var progress = NATSPutProgress(at: Clock.system.monotonicNanoseconds())
            while !rest.isEmpty {
                let sending = Sending()
                for number in rest {
                    sending.begin()
                    let (subject, bytes) = message(number)
                    publisher.send(
                        NATSPublisher.Job(subject: subject, bytes: bytes) { result in
                            sending.end(number, result)
                        })
                }
                let (failed, error) = sending.finish()
                let now = Clock.system.monotonicNanoseconds()
                if failed.count < rest.count { progress.recordStored(at: now) }
                if let error {
                    guard error.isTransient, error != .stopped, !progress.isOver(at: now)
                    else { throw error }
                    sending.pause()
                }
                rest = failed
            }
        }

        // MARK: - Replaceable objects

        /// Returns an object of the bucket and its revision; nil if there is none.
        func load(_ name: String) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? {
            try NATSNames.check(name)
            let stream = names.bucketStream
            let subject = names.subject(ofKey: name)
            let message = try session.message("load \(name)") { message, context, code in
                js_GetLastMsg(message, context, stream, subject, nil, code)
            }
            guard let message else { return nil }
            return (message.bytes, message.number)
        }

        /// Replaces an object of the bucket, if its revision is the expected one.
        func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement {
            try NATSNames.check(name)
            guard bytes.count <= HubLimits.messageLength else {
                throw .refused(
                    "\(name) of \(bytes.count) bytes; it has at most \(HubLimits.messageLength)")
            }
            try createBucket()
            // A wrong expectation is sent in a race only; it has stopped replicas.
            guard try load(name)?.revision == revision else { return .changed }
            let subject = names.subject(ofKey: name)
            var isChanged = false
            var isAnswered = true
            do throws(HubLogError) {
                try session.request("replace \(name)") { context, code in
                    var options = jsPubOptions()
                    jsPubOptions_Init(&options)
                    if let revision {
                        options.ExpectLastSubjectSeq = revision
                    } else {
                        options.ExpectNoMessage = true
                    }
                    let status = js_Publish(
                        nil, context, subject, bytes, Int32(bytes.count), &options, code)
                    let number = code.pointee.rawValue
                    isChanged = HubLogError.Code.otherSequence.contains(number)
                    // Without a responder, no broker has the message.
                    isAnswered = number != 0 || status == NATS_NO_RESPONDERS
                    return isChanged ? NATS_OK : status
                }
            } catch {
                guard !isAnswered, error.isTransient else { throw error }
                return .ambiguous(error)
            }
            return isChanged ? .changed : .replaced
        }

        private func createBucket() throws(HubLogError) {
            guard try !streams.exists(names.bucketStream) else { return }
            let bucket = names.bucket
            try session.request("create the bucket \(bucket)") { context, _ in
                bucket.withCString { bucket in
                    var configuration = kvConfig()
                    kvConfig_Init(&configuration)
                    configuration.Bucket = bucket
                    configuration.History = 1
                    configuration.Replicas = replicas
                    configuration.StorageType = js_FileStorage
                    var store: OpaquePointer?
                    let status = js_CreateKeyValue(&store, context, &configuration)
                    kvStore_Destroy(store)
                    return status
                }
            }
        }
    }
#endif
