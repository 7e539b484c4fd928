#if NATS
    import CNATS
    import SheafHubLog

    extension HubLogError {
        /// Creates an error from the results of a request.
        init(_ status: natsStatus, _ code: jsErrCode, _ text: String?, _ request: String) {
            let reason = text ?? String(cString: natsStatus_GetText(status))
            if let error = HubLogError(code: code.rawValue, reason, request) {
                self = error
            } else {
                self.init(status, reason, request)
            }
        }

        private init(_ status: natsStatus, _ reason: String, _ request: String) {
            switch status {
            case NATS_TIMEOUT: self = .timeout(request)
            case NATS_NOT_FOUND: self = .missing("stream or message for: \(request)")
            case NATS_NO_RESPONDERS:
                self = .disconnected("\(request): no broker serves the stream, or none leads it")
            case NATS_CONNECTION_CLOSED, NATS_CONNECTION_DISCONNECTED, NATS_NO_SERVER,
                NATS_IO_ERROR, NATS_STALE_CONNECTION, NATS_INSUFFICIENT_BUFFER,
                NATS_NOT_YET_CONNECTED:
                self = .disconnected("\(request): \(reason)")
            default: self = .refused("\(request): \(reason)")
            }
        }
    }
#endif
