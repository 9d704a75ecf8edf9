import Attestation
import ConversionModels
import EventLog

/// A copy of a postback that was decoded, whatever became of it: what the copies of several routes are
/// held against each other by.
public struct PostbackCopy: Sendable {
    /// Which postback it is a copy of.
    public var id: RecordID
    /// How it came.
    public var route: PostbackRoute
    /// The partition that it lies in.
    public var partition: Int32
    /// Its offset.
    public var offset: Int64
    /// Its timestamp, in milliseconds since 1970.
    public var timestampMilliseconds: Int64
    /// What became of it.
    public var outcome: Outcome
    /// Who signed it.
    public var verdict: Verdict
    /// What it carries that nobody signed.
    public var values: UnsignedValues
    /// Whose ad it was.
    public var campaign: CampaignKey
    /// 0 to 2; 0 below 4.0.
    public var sequenceIndex: Int
    /// Whether the campaign is a source identifier, and not a campaign id.
    public var hasSourceIdentifier: Bool
    /// Whether it is of the network that won.
    public var didWin: Bool
}
