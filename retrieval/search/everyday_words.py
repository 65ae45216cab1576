"""Everyday words: words of any text that say little about what a claim is about.

The line "No document contains: …" leaves them out, because their absence says nothing. The lists
are our own: light verbs with their irregular forms, adverbs, words of judgement, greetings, curses,
the words of chats, units, and contractions without their apostrophes. Verbs that may decide a claim
(ban, withdraw, double) are not in them. A language without a list has no such line.
"""

from __future__ import annotations

from collections.abc import Mapping

_ENGLISH = """
accept act add agree allow answer appear apply argue arrive ask assume avoid base be become began
begin begun behave believe belong blame bother bought bring broke broken brought build built buy
call came can care carry catch caught cause change check choose chose chosen claim clear click
close come concern confirm consider contain continue cost could count cover create deal decide
describe deserve did die discover discuss do does done doubt drive drop drove dying eat end enjoy
ensure exist expect explain face fail fake fall feel fell felt figure fill find finish fit fix
follow force forget forgot found gave get give given go gone got grew grow grown guess had hang
happen hate have he hear heard held help hide hit hold hope hurt imagine improve include increase
intend involve join jump keep kept kill knew know known lack laid last laugh lay lead learn leave
led left let lie like listen live look lose losing lost love made make manage mark matter may mean
meant measure meet mention met might mind miss move must name need notice occur offer open ought
own paid pass pay pick play plan point prefer prepare present press pretend prove provide pull
push put raise ran reach read realise realize reason receive refer refuse relate release remain
remember remove repeat reply report request require rest result return rid rise rose run said sat
save saw say seek seem seen sell send sent serve set shall share shook should shout show shown
shut sit sleep smile sold speak spend spent spoke stand start state stay stick stood stop study
succeed suffer suggest support suppose take taken talk teach tell tend test thank thanks think
thought threw throw told took touch treat tried try turn understand understood use used visit wait
wake walk want was watch wear wears went were will win wish wonder work works worry would write
written wrong wrote won able about above absolutely accelerate accelerating actually after
afterwards again ago ahead almost alone along already also although always amazing another any
anybody anymore anyone anything anyway anywhere apart apparently around aside away awful back bad
badly barely basically beautiful because before behind besides best better beyond big bigger
biggest bit both briefly bright busy certain certainly clearly completely constantly correct
couple crazy current currently daily day days deep definitely different difficult directly down
due dumb during each early easily easy either else enough entire entirely especially even
eventually ever every everybody everyone everything everywhere evil exact exactly extremely fair
fairly famous far fast faster favorite favourite few fewer fewest finally fine first fool former
formerly forward free frequent frequently fresh full fully fun funny further general generally
glad good gradually great greatest greatly guy guys half happy hard hardly harmless heavily heavy
hence here high highly honest honestly hot hotter hottest huge idea immediately important
impossible indeed inside instead interesting just kind large largely late lately later latest lazy
least less liar liars likely literally little loads long longer lot lots loud low lucky main
mainly many maybe meanwhile merely million more moreover most mostly much myth mythical naked
nearly necessarily never nevertheless new next nice nobody none normal normally nothing now
obvious obviously odd off often okay old once one ones only original originally other others
otherwise over overall particular particularly partly past perfect perfectly perhaps permanently
plain please plenty poor possible possibly pretty previous previously probably proper properly
purely quick quickly quite rapidly rare rarely rather ready real really recent recently regularly
relatively right rough roughly sad safe same seldom separately serious seriously several sharp
short shortly shrink shrank shrunk significantly silly simple simply since single slightly slow
slowly small so some somebody somehow someone something sometimes somewhat somewhere soon sort
special specific specifically still straight strange strong strongly stuff stupid such sudden
suddenly supposedly sure surely terrible than then there therefore thing things though through
thus tight tiny together today tomorrow tonight too total totally tough toward towards true truly
truth twice typical typically ugly ultimately under unfortunately unlikely until up usual usually
very via way weak weird well what whatever whenever where wherever whether which while whoever
whole why wide widely wild without wonderful worse worst yearly yes yesterday yet you young
afternoon bye cheers congrats congratulations dear evening folks goodbye goodnight haha hahaha
hello hey hi howdy lmao lol luv merry morning night omg oops ouch pls plz rofl rt smh sorry sup
tbh thx ty welcome wow wtf yay yeah yep yo yup nope nah gonna wanna gotta kinda sorta dunno cos
cuz bc btw imo imho fyi idk ppl ass asshole bastard bitch bloody bollocks bullshit crap cunt damn
damned dick fuck fucked fucker fucking goddamn hell idiot idiotic idiots jerk moron morons
motherfucker piss pissed shit shitty slut sucker sucks twat whore arent cant couldnt didnt doesnt
dont hadnt hasnt havent hes im isnt ive lets shes shouldnt thats theyre theyve wasnt werent weve
wont wouldnt youre youve celsius centimeter centimeters centimetre centimetres degree degrees
dollar dollars euro euros fahrenheit foot feet gram grams hour hours hr hrs inch inches kg kilo
kilogram kilograms kilometer kilometers kilometre kilometres km meter meters metre metres mg mile
miles millimeter millimeters millimetre millimetres min minute minutes mins ml mm month months
percent percentage pound pounds sec second seconds ton tonne tonnes tons week weeks year years
january february march april june july august september october november december monday tuesday
wednesday thursday friday saturday sunday two three four five six seven eight nine ten eleven
twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty
sixty seventy eighty ninety hundred hundreds thousand thousands millions billion billions trillion
dozen dozens zero third quarter i me my mine myself your yours yourself him his himself her hers
herself its itself we us our ours ourselves they them their theirs themselves who whom whose that
this these those people person man men woman women boy boys girl girls folk a an the and or nor
but if as at by for from in into onto is it no not of on out per to with within amid among amongst
between across against upon unto below near beside whereas unless till when how neither all am are
been being has having cannot doing
"""
_ARABIC = """
الآن اليوم أمس الأمس الغد الناس العالم الجميع الكثير القليل البعض الكل الذي التي الذين اللذين
اللتين اللواتي الحالي الحالية الماضي الماضية القادم القادمة الجديد الجديدة القديم القديمة الكبير
الكبيرة الصغير الصغيرة الأول الأولى الثاني الثانية الثالث الثالثة الأخير الأخيرة الآخر الأخرى
الآخرون الحقيقة الحق الكذب الصحيح الصحيحة الشيء الأشياء الأمر الأمور الوقت السنة السنوات العام
الأعوام الشهر الأشهر الأسبوع الساعة الساعات الدقيقة الدقائق المرة المرات الطريقة السبب الأسباب
الله السلام الخير الصباح المساء الأفضل الأكثر الأقل الأكبر الأصغر الأعلى الأسوأ الواحد الواحدة
الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت الأحد
"""
EVERYDAY: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "ar": frozenset(_ARABIC.split()),
}
"""The everyday words of a language, by its ISO 639-1 code, in lower case."""

_ALIKE = """
america american states us usa|britain british uk|carbon co2|child children kid kids
corona coronavirus covid|europe european eu|flu influenza|hcq hydroxychloroquine
jab jabs shot shots vaccination vaccine vaccines|million ppm|parts ppm
bike bicycle|car cars vehicle vehicles|cop cops police|doc docs doctor doctors
mom mother|dad father|oil petroleum|petrol gasoline gas|plane planes aircraft airplane airplanes
"""


def _by_word(groups: str) -> dict[str, frozenset[str]]:
    """Return each word of some groups with the other words of its groups."""
    others: dict[str, frozenset[str]] = {}
    for group in groups.replace("\n", "|").split("|"):
        words = frozenset(group.split())
        for word in words:
            others[word] = others.get(word, frozenset()) | words - {word}
    return others


SYNONYMS: Mapping[str, frozenset[str]] = _by_word(_ALIKE)
"""English words with the others that texts use in their place, in lower case."""
