/// What a SKAdNetwork postback says of itself and Apple signs: numbers, and texts in memory that
/// the caller lends for as long as the claims are used.
///
/// Texts are unescaped and otherwise as received: Apple signs `ad-network-id` in the case in which
/// it was registered. nil stands for a field that is absent or null.
public struct SKAdNetworkClaims {
    /// `version`; absent in postbacks of 1.0.
    public var version: UnsafeRawBufferPointer?
    /// `ad-network-id`, case kept.
    public var adNetworkID: UnsafeRawBufferPointer
    /// `campaign-id`, up to 3.0.
    public var campaignID: Int64?
    /// `source-identifier`, from 4.0; a text because its leading zeros are signed.
    public var sourceIdentifier: UnsafeRawBufferPointer?
    /// `app-id`, the advertised app.
    public var appID: Int64
    /// `transaction-id`, case kept.
    public var transactionID: UnsafeRawBufferPointer
    /// `redownload`, from 2.0.
    public var redownload: Bool?
    /// `source-app-id`, from 2.0; often absent.
    public var sourceAppID: Int64?
    /// `source-domain`, from 4.0; takes the place of `source-app-id` in web ads.
    public var sourceDomain: UnsafeRawBufferPointer?
    /// `fidelity-type`, from 2.2.
    public var fidelityType: Int64?
    /// `did-win`, from 3.0.
    public var didWin: Bool?
    /// `postback-sequence-index`, from 4.0.
    public var sequenceIndex: Int64?

    /// Claims with the fields that every postback has; the others are absent until they are set.
    public init(
        version: UnsafeRawBufferPointer?,
        adNetworkID: UnsafeRawBufferPointer,
        appID: Int64,
        transactionID: UnsafeRawBufferPointer
    ) {
        self.version = version
        self.adNetworkID = adNetworkID
        self.appID = appID
        self.transactionID = transactionID
    }
}
