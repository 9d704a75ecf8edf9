/// A decoded record of the topic `conversion-updates`. Texts are symbols of the batch.
struct ConversionUpdatesEvent {
    /// What became of the request.
    enum Outcome: Int {
        case told, unchanged, locked, ended, noModel, stale
    }

    /// A value and the version of the model that it was told under.
    struct ModelledValue {
        /// 0...63, or 0...2 for low, medium and high.
        var value: Int64
        var model: Symbol
    }

    /// What the request did to the fine value, or to the coarse one of its window.
    struct Change {
        var told: ModelledValue?
        var toldBefore: ModelledValue?
        var reported: ModelledValue?
        var reportedBefore: ModelledValue?
    }

    var appID: Int64
    var framework: Symbol
    var model: Symbol
    /// 0...2.
    var sequenceIndex: Int64
    var outcome: Outcome
    /// The device itself asked, and says what it has with each request.
    var isAskedByDevice: Bool
    var fine: Change?
    var coarse: Change?
    var locksWindow: Bool
    var hasOtherCurrency: Bool
    var hasError: Bool
}
