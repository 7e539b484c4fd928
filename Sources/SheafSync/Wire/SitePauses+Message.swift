package import SheafDocument

extension SitePauses: UnsolicitedMessage {
    package static var type: FrameType { .pauses }
}
