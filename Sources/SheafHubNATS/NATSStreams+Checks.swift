#if NATS
    import CNATS
    import SheafHubLog

    /// Whether the streams on the brokers are those of a log, and keep its messages.
    extension NATSStreams {
        /// Returns the logs of the database that have, or had, entries.
        func logs() throws(HubLogError) -> [HubLogID] {
            var logs: [HubLogID] = []
            for name in try streams(names.subjectsOfLogs) {
                guard let shard = names.shard(ofStream: name), !logs.contains(shard.log) else {
                    continue
                }
                do throws(HubLogError) {
                    if try last(of: shard) > 0 { logs.append(shard.log) }
                } catch  where error.isMissing {
                    // Of two logs that hubs create concurrently, one is removed.
                    continue
                }
            }
            return logs
        }

        /// Throws unless the streams of a log, and those of objects, exist and keep their messages.
        func check(_ log: HubLogID, shardCount: Int) throws(HubLogError) {
            for number in 0..<shardCount {
                let name = names.stream(of: HubShard(UInt16(number), of: log))
                do throws(HubLogError) { try check(name, isShard: true) } catch
                    where error.isMissing
                {
                    throw .missing(
                        "stream \(name), in which the messages of a shard were; restore it from a "
                            + "backup, or run 'sheaf hub replace --force'")
                }
            }
            for name in [names.bucketStream, names.objects] {
                do throws(HubLogError) { try check(name, isShard: false) } catch
                    where error.isMissing
                {
                    continue
                }
            }
        }

        /// Throws if a stream can lose messages, or has fewer replicas than this hub requires.
        func check(_ name: String, isShard: Bool) throws(HubLogError) {
            var faults: [String] = []
            try session.request("read the configuration of the stream \(name)") { context, code in
                var info: UnsafeMutablePointer<jsStreamInfo>?
                let status = js_GetStreamInfo(&info, context, name, nil, code)
                if let stream = info?.pointee.Config {
                    faults = self.faults(stream.pointee, isShard)
                }
                jsStreamInfo_Destroy(info)
                return status
            }
            guard faults.isEmpty else {
                throw .refused(
                    "the stream \(name) can lose messages: \(faults.joined(separator: "; ")); "
                        + "correct it with 'nats stream edit'")
            }
        }

        private func faults(_ stream: jsStreamConfig, _ isShard: Bool) -> [String] {
            var faults: [String] = []
            if stream.Replicas < replicas {
                faults.append(
                    "it has \(stream.Replicas) replicas, and this hub requires \(replicas)")
            }
            if stream.Storage != js_FileStorage {
                faults.append("its storage must be file, which only a new stream can have")
            }
            if stream.Discard != js_DiscardNew { faults.append("its discard policy must be new") }
            if stream.MaxAge > 0 { faults.append("it must have no maximum age") }
            if stream.Retention != js_LimitsPolicy {
                faults.append("its retention policy must be limits")
            }
            if isShard, stream.MaxMsgsPerSubject > 0 {
                faults.append("it must have no limit of messages per subject")
            }
            return faults
        }
    }
#endif
